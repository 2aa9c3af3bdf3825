// SPDX-License-Identifier: MIT

package xdp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// sourceMAC looks up the interface's own address.
func sourceMAC(name string, l rtnl.Link) (net.HardwareAddr, error) {
	if l.Flags&unix.IFF_LOOPBACK != 0 {
		return nil, &fault.Error{Op: "generate frames on " + name + ": it is the loopback", Err: unix.EOPNOTSUPP,
			How: "frames need two hosts: namespaces joined by a veth, as zcbench demo makes them, or two machines"}
	}
	i, err := net.InterfaceByIndex(l.Index)
	if err != nil {
		return nil, fmt.Errorf("find the address of %s: %w", name, err)
	}
	if len(i.HardwareAddr) != 6 {
		return nil, &fault.Error{Op: "generate frames on " + name + ": it has no Ethernet address",
			Err: unix.EOPNOTSUPP, How: "name the interface below, with --tg-dev"}
	}
	return i.HardwareAddr, nil
}

// resolveLimit is how long a peer has to answer.
const resolveLimit = 2 * time.Second

// resolve finds the peer's address on the link. Frames would flood whatever lies between if the
// peer were further away, or not there: that is refused.
func resolve(dev rtnl.Link, t Tuples) (net.HardwareAddr, error) {
	c, err := rtnl.Dial()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	to := t.Dest.Unmap()
	if err := onLink(c, dev, to); err != nil {
		return nil, err
	}
	for end := time.Now().Add(resolveLimit); ; time.Sleep(20 * time.Millisecond) {
		mac, err := c.Neighbour(dev.Index, to)
		switch {
		case err == nil && mac[0]&1 == 0:
			return mac, nil
		case err == nil:
			return nil, &fault.Error{
				Op: fmt.Sprintf("generate frames for %v: its address on the link, %v, is a multicast address", to,
					mac),
				Err: unix.EINVAL, How: "see ip neigh: a flood must have a single receiver"}
		case !errors.Is(err, unix.ENOENT):
			return nil, fmt.Errorf("find the address of %v on its link: %w", to, err)
		case time.Now().After(end):
			return nil, &fault.Error{Op: fmt.Sprintf("find the address of %v on the link of %s: no answer", to,
				dev.Name), Err: unix.EHOSTUNREACH, How: "check that the receiver is up: ping, ip neigh"}
		}
		ask(netip.AddrPortFrom(t.Source.Unmap(), 0), netip.AddrPortFrom(to, t.DestPort))
	}
}

// onLink refuses a peer that is not on the interface's own link.
func onLink(c *rtnl.Conn, dev rtnl.Link, to netip.Addr) error {
	refuse := func(why string) error {
		return &fault.Error{Op: fmt.Sprintf("generate frames for %v on %s: %s", to, dev.Name, why),
			Err: unix.ENETUNREACH,
			How: "a flood may only go to a neighbour: give both hosts addresses of one network on the link that " +
				"joins them"}
	}
	index, err := c.Route(to)
	if err != nil {
		return fmt.Errorf("find the route to %v: %w", to, err)
	}
	if index != dev.Index {
		return refuse("the route to it goes elsewhere")
	}
	all, err := c.Addrs()
	if err != nil {
		return err
	}
	near := false
	for _, a := range all {
		if a.Prefix.Addr() == to {
			return refuse("it is this host's own address")
		}
		if a.Index == dev.Index && a.Prefix.Masked().Contains(to) && a.Prefix.Bits() > 0 {
			near = true
			if ofAll(a.Prefix, to) {
				return refuse("it is the address of the whole network")
			}
		}
	}
	if !near {
		return refuse("it is behind a router")
	}
	return nil
}

// ofAll reports whether an address belongs to no one host of a network: its first one, which with
// IPv6 is that of all its routers (RFC 4291, 2.6.1), and with IPv4 the last one.
func ofAll(p netip.Prefix, a netip.Addr) bool {
	if p.Bits() >= p.Addr().BitLen()-1 {
		return false
	}
	return a == p.Masked().Addr() || p.Addr().Is4() && a == broadcast(p)
}

// broadcast computes the last address of an IPv4 network.
func broadcast(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().As4()
	for i := p.Bits(); i < 32; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	return netip.AddrFrom4(b)
}

// ask makes the kernel look for the peer: a datagram to where frames will go does.
func ask(from, to netip.AddrPort) {
	c, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(from), net.UDPAddrFromAddrPort(to))
	if err != nil {
		return // nobody answers then
	}
	defer c.Close()
	_, _ = c.Write(nil)
}

// transmits refuses an interface that takes no redirected frames. Kernels before 6.3 do not tell.
func transmits(op, name string) error {
	d, err := nic.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	f, err := d.XDPFeatures()
	if err != nil || f&nic.XDPTransmits != 0 {
		return nil
	}
	return &fault.Error{Op: op + " " + name + ": it accepts no frames redirected by XDP", Err: unix.EOPNOTSUPP,
		How: "on veth its peer must have NAPI: GRO on (ethtool -K PEER gro on, when PEER is up), or a native XDP " +
			"program; a NIC needs a driver with XDP redirect; some need an XDP program attached, too"}
}
