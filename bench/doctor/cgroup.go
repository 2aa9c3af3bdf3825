// SPDX-License-Identifier: MIT

package doctor

import (
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/cgroup"
)

// cgroups checks by what the control groups of this process may hold a flow back. It names them, so
// no record has it.
func (fs fs) cgroups() wire.Check {
	c := wire.Check{Name: "cgroup limits", Needed: "none: a flow that reaches one is held back, and its run is invalid",
		Status: "ok", Found: "none"}
	g, err := cgroup.OpenIn(fs.Proc)
	if err != nil {
		c.Status, c.Found = "warn", err.Error()
		return c
	}
	defer g.Close()
	r, err := g.Read()
	if err != nil {
		c.Status, c.Found = "warn", err.Error()
		return c
	}
	var found []string
	for i := range r.CPU {
		if l := &r.CPU[i]; l.Max != "" {
			found = append(found, fmt.Sprintf("%v: %s CPUs", l, cpusOf(l.Max)))
		}
	}
	for i := range r.Memory {
		if l := r.Memory[i].String(); l != "" {
			found = append(found, l)
		}
	}
	if found != nil {
		c.Status, c.Fix = "warn",
			"run outside of these cgroups, or start the container, service or job without the limit"
	}
	if unseen := g.Unseen(); unseen != nil {
		found = append(found, unseen...)
		if c.Status == "ok" {
			c.Status, c.Fix = "warn", "look on the host for limits of the groups above (cpu.max, memory.high)"
		}
	}
	if found != nil {
		c.Found = strings.Join(found, "; ")
	}
	return c
}

// cpusOf converts "QUOTA PERIOD" to a number of CPUs.
func cpusOf(max string) string {
	var quota, period float64
	if n, _ := fmt.Sscan(max, &quota, &period); n < 2 || period <= 0 {
		return "?"
	}
	return fmt.Sprintf("%.3g", quota/period)
}
