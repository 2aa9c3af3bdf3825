package nic

import (
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// RouteDev is the name of the interface by which packets to ip leave the calling
// thread's network namespace.
func RouteDev(ip net.IP) (string, error) {
	const how = "no route to the receiver: check addresses, link and routes (ip route get)"
	op := fmt.Sprintf("find the route to %v", ip)
	routes, err := netlink.RouteGet(ip)
	if err != nil || len(routes) == 0 {
		if err == nil {
			err = unix.ENETUNREACH
		}
		return "", failed(op, err, map[unix.Errno]string{0: how})
	}
	l, err := netlink.LinkByIndex(routes[0].LinkIndex)
	if err != nil {
		return "", failed(op, err, map[unix.Errno]string{0: how})
	}
	return l.Attrs().Name, nil
}
