// SPDX-License-Identifier: MIT

package agent

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/bench/doctor"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
	"golang.org/x/sys/unix"
)

// sshEnv is where sshd says who connected: "CLIENT PORT SERVER PORT" (sshd(8)). What
// the deploy script hands on past sudo is the same (bench/host/sh/root.sh).
const sshEnv = "SSH_CONNECTION"

// sshLink is the ssh connection by which the controller reaches this agent.
type sshLink struct {
	peer, here netip.Addr
	err        error // it is not known
}

// learnSSH reads what sshd said. It is data like any other: whoever logs in may have
// changed it, and who is no network peer (ProxyCommand over a pipe, vsock) is UNKNOWN.
func learnSSH(said string) *sshLink {
	l := &sshLink{}
	l.peer, l.here, l.err = parseConnection(said)
	return l
}

func parseConnection(said string) (peer, here netip.Addr, err error) {
	f := strings.Fields(said)
	if len(f) != 4 || len(said) > 256 {
		return peer, here, fmt.Errorf("%s is %.80q, and not two addresses with their ports", sshEnv, said)
	}
	for i, to := range []*netip.Addr{&peer, &here} {
		if *to, err = netip.ParseAddr(f[2*i]); err != nil || to.IsUnspecified() || to.Is4() && to.Zone() != "" {
			return peer, here, fmt.Errorf("%s names the address %.60q, which is none", sshEnv, f[2*i])
		}
		if n, err := strconv.ParseUint(f[2*i+1], 10, 16); err != nil || n == 0 {
			return peer, here, fmt.Errorf("%s names the port %.20q, which is none", sshEnv, f[2*i+1])
		}
	}
	return peer, here, nil
}

// devs are the interfaces that the connection goes by, one for either direction where
// they differ; none if it stays on this machine, or is not known. A route that only the
// connection's own socket gets (a mark, a VRF) leaves the one with its address.
func (l *sshLink) devs(s rtnl.Stack) ([]rtnl.Link, error) {
	if l == nil || l.err != nil {
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
	if name, herr := nic.Having(l.here); herr == nil {
		if in, ok := s.Named(name); ok && in.Index != out.Index && in.Flags&unix.IFF_LOOPBACK == 0 {
			devs = append(devs, in)
		}
	}
	if devs == nil {
		return nil, &fault.Error{Op: fmt.Sprintf("find the interface of the ssh connection to %v", l.peer), Err: err, How: "look at the route: ip route get " + l.peer.String()}
	}
	return devs, nil
}

// leaves is the interface by which packets to the peer leave. That of a link-local
// address is its zone.
func (l *sshLink) leaves(s rtnl.Stack) (rtnl.Link, error) {
	if z := l.peer.Zone(); z != "" {
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
	index, err := c.RouteFrom(l.peer, l.here)
	if err != nil {
		return rtnl.Link{}, err
	}
	if out, ok := s.At(index); ok {
		return out, nil
	}
	return rtnl.Link{}, unix.ENODEV
}

// shares says how an interface shares a wire with the ssh connection; "" where it does
// not. Those do that have an interface below them in common: what is set there, and
// what floods it, meets both.
func (l *sshLink) shares(s rtnl.Stack, dev string) (string, error) {
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
				return fmt.Sprintf("the ssh connection to %v goes by %s", l.peer, d.Name), nil
			case x.Index == own.Index:
				return fmt.Sprintf("the ssh connection to %v goes by %s, which stands on %s", l.peer, d.Name, own.Name), nil
			case x.Index == d.Index:
				return fmt.Sprintf("the ssh connection to %v goes by %s, on which %s stands", l.peer, d.Name, own.Name), nil
			}
			return fmt.Sprintf("the ssh connection to %v goes by %s, and both it and %s stand on %s", l.peer, d.Name, own.Name, x.Name), nil
		}
	}
	return "", nil
}

// guard refuses to touch an interface that shares a wire with the ssh connection, unless
// the controller said that it may.
func (a *Agent) guard(dev string) error {
	if a.shared {
		return nil
	}
	return a.guardAlways(dev)
}

// guardAlways is guard whatever the controller said: of what would leave ssh no room.
func (a *Agent) guardAlways(dev string) error {
	if a.ssh == nil || dev == "" {
		return nil
	}
	s, err := rtnl.ReadStack()
	if err != nil {
		return err
	}
	if why, err := a.ssh.shares(s, dev); err == nil && why != "" {
		return wire.SharedError(dev, why)
	}
	return nil // where it cannot be told, doctor says so
}

// guardEnd is guard of the interface of an end's flow.
func (a *Agent) guardEnd(s wire.EndSpec) error {
	m, err := stream.LookupMode(s.Role, s.Mode())
	floods := err == nil && m.Kind == stream.Frame
	if a.ssh == nil || a.shared && !floods {
		return nil
	}
	dev := s.Dev
	if dev == "" {
		dev = devOf(s)
	}
	if floods {
		return a.guardAlways(dev)
	}
	return a.guard(dev)
}

// devOf is the interface of an end that names none, by its address; "" where it cannot be
// told: then the end says itself what is wrong with the address.
func devOf(s wire.EndSpec) string {
	host, _, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return ""
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return ""
	}
	if z := ip.Zone(); z != "" {
		return z
	}
	if dev, err := nic.Having(ip); err == nil {
		return dev
	} else if !errors.Is(err, nic.ErrNoInterface) {
		return ""
	}
	dev, _ := rtnl.RouteDev(ip)
	return dev
}

// checkSSH is what doctor says of an interface and the ssh connection.
func (a *Agent) checkSSH(s rtnl.Stack, dev string) wire.Check {
	c := wire.Check{Name: doctor.CheckSSH, Needed: "an interface for the flow that ssh does not need", Status: "ok"}
	switch {
	case a.ssh == nil:
		c.Found = "this host is reached without ssh"
		return c
	case a.ssh.err != nil:
		c.Status, c.Found, c.Fix = "warn", "not known: "+a.ssh.err.Error(), "make sure yourself that ssh does not come by "+dev+": ip route get ADDRESS"
		return c
	}
	why, err := a.ssh.shares(s, dev)
	switch {
	case err != nil:
		c.Status, c.Found, c.Fix = "warn", fault.Reason(err), fault.Fix(err)
	case why != "":
		c.Status, c.Found, c.Fix = "warn", why, wire.SharedFix
	default:
		c.Found = fmt.Sprintf("the ssh connection to %v goes another way", a.ssh.peer)
	}
	return c
}

// sshOf fills in which interfaces share a wire with the ssh connection, as far as it can be
// told.
func (a *Agent) sshOf(s rtnl.Stack, all []wire.Interface) {
	for i := range all {
		if why, err := a.ssh.shares(s, all[i].Name); err == nil {
			all[i].SSH = why
		}
	}
}

// learn begins to mind the ssh connection of a controller that came by one.
func (a *Agent) learn(h wire.Hello) {
	a.ssh, a.shared = nil, h.SharedWithSSH
	if h.SSH {
		a.ssh = learnSSH(os.Getenv(sshEnv))
	}
}
