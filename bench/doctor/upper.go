// SPDX-License-Identifier: MIT

package doctor

import (
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// KindOf describes the kind of a virtual interface, and what of it matters to a flow.
func KindOf(l rtnl.Link) string {
	switch {
	case l.Bond != nil:
		return "bond " + l.Bond.String()
	case l.Kind == "vlan":
		return fmt.Sprintf("vlan %d", l.VLAN)
	}
	return l.Kind
}

// stack checks what stands on an interface, and what that stands on: which of them to name, and
// which has to have the address.
func stack(s rtnl.Stack, l rtnl.Link) wire.Check {
	c := wire.Check{Name: "upper and lower interfaces",
		Needed: "queues belong to the port; address and route to the interface on top of it", Status: "ok"}
	var found []string
	say := func(what string, links []rtnl.Link) {
		var names []string
		for _, x := range links {
			name := x.Name
			if k := KindOf(x); k != "" {
				name += " (" + k + ")"
			}
			names = append(names, name)
		}
		if len(names) > 0 {
			found = append(found, what+" "+strings.Join(names, ", "))
		}
	}
	say(l.Name+" is a port of", masters(s, l))
	say("on top of it:", s.Above(l)[1:])
	say(l.Name+" is on top of", s.Below(l)[1:])
	if c.Found = strings.Join(found, "; "); len(found) == 0 {
		c.Found = "none: it is a plain port"
	}
	if vrf, ok := s.At(l.Master); ok && vrf.Kind == "vrf" {
		c.Status, c.Found = "warn", fmt.Sprintf("%s is in the VRF %s", l.Name, vrf.Name)
		c.Fix = "its address is known only within the VRF: start zcbench there (ip vrf exec " + vrf.Name +
			" zcbench ..., by ssh to an sshd in it)"
		return c
	}
	port, known := s.Port(l)
	switch ports := s.Ports(l); {
	case l.LowerElsewhere || l.Joins() && len(ports) == 0:
		c.Status, c.Found = "warn", strings.TrimPrefix(c.Found+"; its port is in another namespace, or there is none",
			"none: it is a plain port; ")
		c.Fix = "modes that take a queue over need the port in the same namespace"
	case !known:
		c.Status, c.Fix = "warn", fmt.Sprintf("modes that take a queue over, and settings of queues, need the "+
			"port that the flow uses: name one of %s with --dev; "+
			"address and route stay on %s, and the run's proof says whether it was that one",
			strings.Join(linkNames(ports), ", "), l.Name)
	case port.Index != l.Index:
		c.Found += fmt.Sprintf("; a flow uses the queues of %s", port.Name)
	case len(s.Above(l)) > 1 && len(masters(s, l)) > 0:
		c.Needed += fmt.Sprintf(": --dev %s, with the address on %s", l.Name, s.Above(l)[len(s.Above(l))-1].Name)
	}
	return c
}

// masters returns what an interface is a port of.
func masters(s rtnl.Stack, l rtnl.Link) []rtnl.Link {
	if m, ok := s.At(l.Master); ok {
		return []rtnl.Link{m}
	}
	return nil
}

func linkNames(all []rtnl.Link) (out []string) {
	for _, l := range all {
		out = append(out, l.Name)
	}
	return out
}
