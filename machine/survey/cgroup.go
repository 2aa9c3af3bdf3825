// SPDX-License-Identifier: MIT

package survey

import (
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/machine/cgroup"
)

// cgroups adds the limits that the control groups of this process set: its own and each one above
// it, identified by how far above they are. It leaves out their names, which may be those of users,
// guests and jobs.
func (f *facts) cgroups() {
	g, err := cgroup.OpenIn(f.fs.Proc)
	if err != nil {
		return
	}
	defer g.Close()
	r, err := g.Read()
	if err != nil {
		return
	}
	var cpu, high, most []string
	for _, c := range r.CPU {
		cpu = append(cpu, ofLevel(c.Max, c.Up))
	}
	for _, m := range r.Memory {
		if high = append(high, ofLevel(m.High, m.Up)); m.V1 {
			high = nil // it has no such limit
		}
		most = append(most, ofLevel(m.Max, m.Up))
	}
	f.add("cgroup/cpu.max", limits(cpu))
	f.add("cgroup/memory.high", limits(high))
	f.add("cgroup/memory.max", limits(most))
	if len(g.Unseen()) > 0 {
		f.add("cgroup/limits not seen", "of cgroups outside of this container")
	}
}

// ofLevel words a limit and where it is; empty: there is none.
func ofLevel(limit string, up int) string {
	switch {
	case limit == "":
		return ""
	case up == 0:
		return limit
	case up == 1:
		return limit + " (1 level up)"
	}
	return fmt.Sprintf("%s (%d levels up)", limit, up)
}

// limits joins the limits of all levels; empty: no level was read.
func limits(levels []string) string {
	if levels == nil {
		return ""
	}
	var set []string
	for _, l := range levels {
		if l != "" {
			set = append(set, l)
		}
	}
	if set == nil {
		return "none"
	}
	return strings.Join(set, ", ")
}
