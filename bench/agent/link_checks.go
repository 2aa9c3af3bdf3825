// SPDX-License-Identifier: MIT

package agent

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/bench/doctor"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/results"
)

// linkChecks are what the doctor finds of an interface. It is looked at once: it does not change in
// a session, or somebody is at it who knows.
type linkChecks struct {
	dev    string
	checks []wire.Check
}

// look finds out what the next run's record is to say, before it begins.
func (a *agent) look(s wire.EndSpec) {
	var devs []string
	for n := range s.NPorts() {
		p := s.PortOf(n)
		devs = append(devs, cmp.Or(p.Upper, p.Dev))
	}
	devs = slices.Compact(devs)
	dev := strings.Join(devs, ",")
	if dev == a.links.dev {
		return
	}
	a.links = linkChecks{dev: dev}
	if stack, err := rtnl.ReadStack(); err == nil && dev != "" {
		for _, dev := range devs {
			a.links.checks = append(a.links.checks, doctor.OfInterface(stack, dev)...)
		}
	}
}

// warn adds to a run's result who else had to do with its interface.
func (a *agent) warn(res *wire.EndResult) {
	for _, x := range []struct {
		check, flag string
		concerns    bool
	}{{doctor.CheckManaged, results.FlagManaged, a.leased.ofLink}, {doctor.CheckARP, results.FlagARPFlux, true}} {
		i := slices.IndexFunc(a.links.checks, func(c wire.Check) bool { return c.Name == x.check && c.Status != "ok" })
		if i >= 0 && x.concerns {
			res.Flags = append(res.Flags, x.flag)
			res.Warnings = append(res.Warnings, a.links.checks[i].Found+"; fix: "+a.links.checks[i].Fix)
		}
	}
}
