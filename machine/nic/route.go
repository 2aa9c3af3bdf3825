// SPDX-License-Identifier: MIT

package nic

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/zcbench/zcbench/machine/rtnl"
	"golang.org/x/sys/unix"
)

// RouteDev is the name of the interface by which packets to ip leave the calling
// thread's network namespace.
func RouteDev(ip net.IP) (string, error) {
	const how = "no route to the receiver: check addresses, link and routes (ip route get)"
	op := fmt.Sprintf("find the route to %v", ip)
	to, ok := netip.AddrFromSlice(ip)
	if !ok {
		return "", failed(op, unix.EINVAL, map[unix.Errno]string{0: how})
	}
	dev, err := rtnl.RouteDev(to)
	if err != nil {
		return "", failed(op, err, map[unix.Errno]string{0: how})
	}
	return dev, nil
}
