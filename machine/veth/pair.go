// SPDX-License-Identifier: MIT

// Package veth makes two hosts in one: network namespaces joined by a veth
// pair, as the demo, the tests and the comparison with other tools use them.
package veth

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// Options are the properties of the pair; zero values are good.
type Options struct {
	MTU int // 0: 4148, which leaves 4096 bytes of payload a segment
	// TCPBufMax is the upper end of net.ipv4.tcp_rmem and tcp_wmem inside the
	// namespaces, bytes. 0: 512 MiB, as the reference experiment has it.
	TCPBufMax int
}

// DefaultMTU carries 4096 bytes of TCP payload beside IPv4 and TCP headers with
// timestamps.
const DefaultMTU = 4148

// End is one of the two hosts.
type End struct {
	Netns      *Netns
	Dev        string
	IPv4, IPv6 net.IP
}

// Pair is two namespaces joined by a veth link.
type Pair struct{ SUT, TG End }

// New makes a pair. Close, or the end of the process, removes it.
func New(o Options) (*Pair, error) {
	if o.MTU == 0 {
		o.MTU = DefaultMTU
	}
	if o.TCPBufMax == 0 {
		o.TCPBufMax = 512 << 20
	}
	p := &Pair{
		SUT: End{Dev: "zcsut", IPv4: net.IPv4(10, 77, 0, 1), IPv6: net.ParseIP("fd00:77::1")},
		TG:  End{Dev: "zctg", IPv4: net.IPv4(10, 77, 0, 2), IPv6: net.ParseIP("fd00:77::2")},
	}
	if err := p.build(o); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Pair) build(o Options) (err error) {
	for _, e := range []*End{&p.SUT, &p.TG} {
		if e.Netns, err = NewNetns(); err != nil {
			return err
		}
	}
	// The link is made inside one namespace with its peer in the other: it never
	// appears in the user's own.
	if err := p.SUT.Netns.Do(func() error { return addVeth(p.SUT.Dev, p.TG.Dev, p.TG.Netns.Fd(), o.MTU) }); err != nil {
		return err
	}
	for _, e := range []*End{&p.SUT, &p.TG} {
		if err := e.Netns.Do(func() error { return e.configure(o) }); err != nil {
			return err
		}
	}
	for _, e := range []*End{&p.SUT, &p.TG} {
		if err := e.Netns.Do(e.passes); err != nil {
			return err
		}
	}
	return nil
}

// upTime is how long a worker of the kernel's may take to notice that a link is up.
const upTime = 30 * time.Second

// passes waits until the end passes packets. A worker notices that the link is up (linkwatch_do_dev
// of net/core/link_watch.c), and on a busy machine that takes some 10 ms. Until then the end loses
// what it is given, such as its answer to the other end's question for its address, which is asked
// again only after a second.
func (e *End) passes() error {
	c, err := rtnl.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	for end := time.Now().Add(upTime); ; time.Sleep(time.Millisecond) {
		link, err := c.Named(e.Dev)
		if err != nil || link.Operational {
			return err
		}
		if time.Now().After(end) {
			return &fault.Error{Op: fmt.Sprintf("%s is not up %v after it was set up", e.Dev, upTime),
				Err: unix.ENETDOWN,
				How: "ip link show in the namespace says in which state it is"}
		}
	}
}

func addVeth(dev, peer string, peerNS, mtu int) error {
	c, err := rtnl.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	err = c.AddVeth(rtnl.VethEnd{Name: dev, MTU: mtu}, rtnl.VethEnd{Name: peer, MTU: mtu}, peerNS)
	if err != nil {
		return remedy.Error(remedy.VethAdd, fmt.Sprintf("add veth link %s, MTU %d", dev, mtu), err, remedy.On{Dev: dev})
	}
	return nil
}

// configure runs inside the end's namespace.
func (e *End) configure(o Options) error {
	for _, name := range []string{"tcp_rmem", "tcp_wmem"} {
		path := "/proc/sys/net/ipv4/" + name
		if err := os.WriteFile(path, fmt.Appendf(nil, "4096 131072 %d", o.TCPBufMax), 0o644); err != nil {
			return remedy.Error(remedy.FileNetctl, "set net.ipv4."+name+" in the namespace", err, remedy.On{Path: path})
		}
	}
	c, err := rtnl.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	for _, dev := range []string{"lo", e.Dev} {
		link, err := c.Named(dev)
		if err != nil {
			return err
		}
		if dev == e.Dev {
			if err := e.address(c, link.Index); err != nil {
				return err
			}
		}
		if err := setUp(c, dev, link.Index); err != nil {
			return err
		}
	}
	return nil
}

func setUp(c *rtnl.Conn, dev string, index int) error {
	if err := c.SetUp(index, true); err != nil {
		return remedy.Error(remedy.LinkUp, "set "+dev+" up", err, remedy.On{Dev: dev})
	}
	return nil
}

func (e *End) address(c *rtnl.Conn, index int) error {
	v4, _ := netip.AddrFromSlice(e.IPv4.To4())
	if err := c.AddAddr(index, netip.PrefixFrom(v4, 24), 0); err != nil {
		return remedy.Error(remedy.AddrAdd, fmt.Sprintf("add address %v to %s", v4, e.Dev), err,
			remedy.On{Dev: e.Dev, Local: netip.AddrPortFrom(v4, 0)})
	}
	v6, _ := netip.AddrFromSlice(e.IPv6)
	switch err := c.AddAddr(index, netip.PrefixFrom(v6, 64), unix.IFA_F_NODAD); { // usable at once
	case errors.Is(err, unix.EOPNOTSUPP):
		e.IPv6 = nil // a kernel without IPv6
	case err != nil:
		return remedy.Error(remedy.AddrAdd, fmt.Sprintf("add address %v to %s", v6, e.Dev), err,
			remedy.On{Dev: e.Dev, Local: netip.AddrPortFrom(v6, 0)})
	}
	return nil
}

// Close lets go of both namespaces; the link goes with them.
func (p *Pair) Close() error {
	var err error
	for _, e := range []*End{&p.SUT, &p.TG} {
		if e.Netns != nil {
			err = errors.Join(err, e.Netns.Close())
			e.Netns = nil
		}
	}
	return err
}
