// SPDX-License-Identifier: MIT

package nic

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/machine/rtnl"
	"golang.org/x/sys/unix"
)

// RouteDev looks up the name of the interface by which packets to ip leave the calling thread's
// network namespace.
func RouteDev(ip net.IP) (string, error) {
	to, ok := netip.AddrFromSlice(ip)
	if !ok {
		return "", failed(remedy.Route, fmt.Sprintf("find the route to %v", ip), unix.EINVAL, remedy.On{})
	}
	return rtnl.RouteDev(to)
}
