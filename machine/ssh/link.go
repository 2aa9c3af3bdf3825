// SPDX-License-Identifier: MIT

// Package ssh knows the connections by which somebody reaches this machine, by ssh or by another
// command, so that they are not cut or flooded.
package ssh

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
	"golang.org/x/sys/unix"
)

// Env is where sshd says who connected: "CLIENT PORT SERVER PORT" (sshd(8)). What
// the deploy script hands on past sudo is the same (bench/host/sh/root.sh).
const Env = "SSH_CONNECTION"

// Link is the connection by which this process was reached.
type Link struct {
	Peer, Here netip.Addr
	By         string // what it is, for messages; "": an ssh connection
	Err        error  // it is not known
}

// Learn reads what sshd said. It is data like any other: whoever logs in may have
// changed it, and who is no network peer (ProxyCommand over a pipe, vsock) is UNKNOWN.
func Learn(said string) *Link {
	l := &Link{}
	l.Peer, l.Here, l.Err = parseConnection(said)
	return l
}

func parseConnection(said string) (peer, here netip.Addr, err error) {
	f := strings.Fields(said)
	if len(f) != 4 || len(said) > 256 {
		return peer, here, fmt.Errorf("%s is %.80q, not two addresses with ports", Env, said)
	}
	for i, to := range []*netip.Addr{&peer, &here} {
		if *to, err = netip.ParseAddr(f[2*i]); err != nil || to.IsUnspecified() || to.Is4() && to.Zone() != "" {
			return peer, here, fmt.Errorf("%s: %.60q is not an address", Env, f[2*i])
		}
		if n, err := strconv.ParseUint(f[2*i+1], 10, 16); err != nil || n == 0 {
			return peer, here, fmt.Errorf("%s: %.20q is not a port", Env, f[2*i+1])
		}
	}
	return peer, here, nil
}

// What names the connection.
func (l *Link) What() string {
	return fmt.Sprintf("%s to %v", cmp.Or(l.By, "the ssh connection"), l.Peer)
}

// devs finds the interfaces that the connection goes by, one for either direction where they
// differ; none if it stays on this machine, or is not known. A route that only the connection's own
// socket gets (a mark, a VRF) leaves the one with its address.
func (l *Link) devs(s rtnl.Stack) ([]rtnl.Link, error) {
	if l == nil || l.Err != nil {
		return nil, nil
	}
	var devs []rtnl.Link
	out, err := l.leaves(s)
	switch {
	case err == nil && out.Flags&unix.IFF_LOOPBACK != 0:
		return nil, nil
	case err == nil:
		devs = append(devs, out)
	}
	if name, herr := nic.Having(l.Here); herr == nil {
		if in, ok := s.Named(name); ok && in.Index != out.Index && in.Flags&unix.IFF_LOOPBACK == 0 {
			devs = append(devs, in)
		}
	}
	if devs == nil {
		return nil, &fault.Error{Op: "find the interface of " + l.What(), Err: err,
			How: "check the route: ip route get " + l.Peer.String()}
	}
	return devs, nil
}

// leaves looks up the interface by which packets to the peer leave. That of a link-local address is
// its zone.
func (l *Link) leaves(s rtnl.Stack) (rtnl.Link, error) {
	if z := l.Peer.Zone(); z != "" {
		if out, ok := s.Named(z); ok {
			return out, nil
		}
		return rtnl.Link{}, unix.ENODEV
	}
	c, err := rtnl.Dial()
	if err != nil {
		return rtnl.Link{}, err
	}
	defer c.Close()
	index, err := c.RouteFrom(l.Peer, l.Here)
	if err != nil {
		return rtnl.Link{}, err
	}
	if out, ok := s.At(index); ok {
		return out, nil
	}
	return rtnl.Link{}, unix.ENODEV
}

// Shares explains how an interface shares a wire with the connection; "" where it does not. Those
// do that have an interface below them in common: what is set there, and what floods it, meets
// both.
func (l *Link) Shares(s rtnl.Stack, dev string) (string, error) {
	own, ok := s.Named(dev)
	if !ok {
		return "", nil
	}
	devs, err := l.devs(s)
	if err != nil {
		return "", err
	}
	below := s.Below(own)
	for _, d := range devs {
		for _, x := range s.Below(d) {
			if !slices.ContainsFunc(below, func(y rtnl.Link) bool { return x.Index == y.Index }) {
				continue
			}
			switch {
			case d.Index == own.Index:
				return fmt.Sprintf("%s uses %s", l.What(), d.Name), nil
			case x.Index == own.Index:
				return fmt.Sprintf("%s uses %s, which is on top of %s", l.What(), d.Name, own.Name), nil
			case x.Index == d.Index:
				return fmt.Sprintf("%s uses %s, below %s", l.What(), d.Name, own.Name), nil
			}
			return fmt.Sprintf("%s uses %s: it and %s are both on top of %s", l.What(), d.Name, own.Name, x.Name), nil
		}
	}
	return "", nil
}

// Shares returns [Link.Shares] of the first of several connections that does.
func Shares(links []*Link, s rtnl.Stack, dev string) (string, error) {
	var unknown error
	for _, l := range links {
		why, err := l.Shares(s, dev)
		if why != "" {
			return why, nil
		}
		unknown = cmp.Or(unknown, err)
	}
	return "", unknown
}
