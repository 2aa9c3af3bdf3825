// SPDX-License-Identifier: MIT

package agent

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/zcbench/zcbench/bench/doctor"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/ssh"
)

// guard refuses to touch an interface that shares a wire with the connection that the
// controller came by, unless that said that it may.
func (a *agent) guard(dev string) error {
	if a.ways == nil || a.shared || dev == "" {
		return nil
	}
	s, err := rtnl.ReadStack()
	if err != nil {
		return err
	}
	if why, err := ssh.Shares(a.ways, s, dev); why != "" && err == nil {
		return wire.SharedError(dev, why)
	}
	return nil // where it cannot be told, doctor says so
}

// guardEnd guards the interface of an end's flow. A flood is refused where it begins, in package
// endpoint.
func (a *agent) guardEnd(s wire.EndSpec) error {
	dev := s.Dev
	if dev == "" && a.ways != nil && !a.shared {
		dev = devOf(s)
	}
	if err := s.CheckPorts(); err != nil {
		return err
	}
	for _, p := range s.More {
		if err := a.guard(p.Dev); err != nil {
			return err
		}
	}
	return a.guard(dev)
}

// devOf finds by its address the interface of an end that names none; "" where it cannot be told:
// then the end says itself what is wrong with the address.
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

// checkSSH checks, for doctor, whether the connection that the controller came by uses an
// interface.
func (a *agent) checkSSH(s rtnl.Stack, dev string) wire.Check {
	c := wire.Check{Name: doctor.CheckSSH, Needed: "choose an interface that ssh does not use", Status: "ok"}
	switch {
	case a.ways == nil:
		c.Found = "this host is reached without ssh"
		return c
	case a.ways[0].Err != nil:
		c.Status, c.Found, c.Fix = "warn", "not known: "+a.ways[0].Err.Error(), "check for yourself that "+
			cmp.Or(a.ways[0].By, "ssh")+" does not use "+dev+": ip route get ADDRESS"
		return c
	}
	why, err := ssh.Shares(a.ways, s, dev)
	switch {
	case err != nil:
		c.Status, c.Found, c.Fix = "warn", fault.Reason(err), fault.Fix(err)
	case why != "":
		c.Status, c.Found, c.Fix = "warn", why, wire.SharedFix
	default:
		c.Found = fmt.Sprintf("%s goes another way", a.ways[0].What())
	}
	return c
}

// sshOf fills in which interfaces share a wire with the ssh connection, as far as it can be
// told.
func (a *agent) sshOf(s rtnl.Stack, all []wire.Interface) {
	for i := range all {
		if why, err := ssh.Shares(a.ways, s, all[i].Name); err == nil {
			all[i].SSH = why
		}
	}
}

// learn begins to mind the connection of a controller that came by one.
func (a *agent) learn(h wire.Hello) {
	a.ways, a.shared = nil, h.SharedWithSSH
	switch {
	case h.SSH:
		a.ways = []*ssh.Link{ssh.Learn(os.Getenv(ssh.Env))}
	case h.Exec != "":
		a.ways = ssh.Above(h.Exec)
	}
}
