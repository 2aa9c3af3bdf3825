// SPDX-License-Identifier: MIT

package rtnl

import (
	"fmt"
	"net/netip"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// Route looks up the index of the interface by which packets to an address leave.
func (c *Conn) Route(to netip.Addr) (index int, err error) { return c.RouteFrom(to, netip.Addr{}) }

// RouteFrom does what Route does for packets that have a source address, if it is valid: rules may
// choose by it.
func (c *Conn) RouteFrom(to, from netip.Addr) (index int, err error) {
	to = to.WithZone("").Unmap()
	h := make([]byte, unix.SizeofRtMsg)
	h[0], h[1] = family(to), byte(to.BitLen())
	msgs, err := c.ask(unix.RTM_GETROUTE, 0, h, func(ae *netlink.AttributeEncoder) {
		ae.Bytes(unix.RTA_DST, to.AsSlice())
		if from.IsValid() {
			from = from.WithZone("").Unmap()
			ae.Bytes(unix.RTA_SRC, from.AsSlice())
		}
	})
	op, on := fmt.Sprintf("find the route to %v", to), remedy.On{Remote: netip.AddrPortFrom(to, 0)}
	if err != nil {
		return 0, remedy.Error(remedy.Route, op, err, on)
	}
	for _, m := range msgs {
		if len(m.Data) < unix.SizeofRtMsg {
			return 0, fmt.Errorf("the kernel's message of a route has %d bytes", len(m.Data))
		}
		ad, err := netlink.NewAttributeDecoder(m.Data[unix.SizeofRtMsg:])
		if err != nil {
			return 0, err
		}
		for ad.Next() {
			if ad.Type() == unix.RTA_OIF {
				return int(ad.Uint32()), nil
			}
		}
	}
	return 0, remedy.Error(remedy.Route, op, unix.ENETUNREACH, on)
}

// AddDefault makes the route of all packets, of IPv4 or IPv6, that no other route is for: by an
// interface that needs no neighbours. Of several the one with the lowest metric is taken, and by a
// socket that is bound to an interface that of the interface. unix.EEXIST: there is one of that
// metric.
func (c *Conn) AddDefault(index int, family byte, metric uint32) error {
	h := make([]byte, unix.SizeofRtMsg)
	h[0], h[4], h[5], h[7] = family, unix.RT_TABLE_MAIN, unix.RTPROT_STATIC, unix.RTN_UNICAST
	if family == unix.AF_INET {
		h[6] = unix.RT_SCOPE_LINK
	}
	_, err := c.ask(unix.RTM_NEWROUTE, netlink.Acknowledge|netlink.Create|netlink.Excl, h,
		func(ae *netlink.AttributeEncoder) {
			ae.Uint32(unix.RTA_OIF, uint32(index))
			ae.Uint32(unix.RTA_PRIORITY, metric)
		})
	return err
}

// RouteDev looks up the name of the interface by which packets to an address leave the calling
// thread's network namespace.
func RouteDev(to netip.Addr) (string, error) {
	return once(func(c *Conn) (string, error) {
		index, err := c.Route(to)
		if err != nil {
			return "", err
		}
		l, err := c.Link(index)
		return l.Name, err
	})
}
