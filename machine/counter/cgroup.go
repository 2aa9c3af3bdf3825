// SPDX-License-Identifier: MIT

package counter

import (
	"fmt"
	"strconv"

	"github.com/zcbench/zcbench/machine/cgroup"
	"github.com/zcbench/zcbench/results"
)

const (
	cpuStatSource  = "cgroup cpu.stat"
	memoryEvents   = "cgroup memory.events.local"
	memoryFailures = "cgroup memory.failcnt"
	pressureSource = "cgroup cpu.pressure, memory.pressure"
)

// cgroups reports what the limits of this process's control groups did in the window, by how many
// levels a group is above its own. The quality of a row says which limit it was, in words.
func (c *Change) cgroups(r *rows, before, after *cgroup.Reading) {
	d := cgroup.Between(before, after)
	if d == nil {
		return
	}
	for i := range d.CPU {
		g := &d.CPU[i]
		if !g.Counted || g.Periods == 0 {
			continue // no limit, or nothing ran that it could have held back
		}
		level, held := strconv.Itoa(g.Up), g.Held()
		r.add("cgroup_N_periods", "1", float64(g.Periods), cpuStatSource, "", level)
		r.add("cgroup_N_throttled_periods", "1", float64(g.Throttled), cpuStatSource, "", level)
		r.add("cgroup_N_throttled_us", "us", float64(g.ThrottledUs), cpuStatSource, "", level)
		r.add(results.MetricThrottled, "1", float64(g.Throttled)/float64(g.Periods), cpuStatSource, held, level)
		c.warnOf(held)
	}
	stalled := ""
	if us := d.Pressure.MemorySome; us != nil && r.seconds > 0 {
		share := float64(*us) / 1e6 / r.seconds
		stalled = fmt.Sprintf("; tasks of its own cgroup waited for memory for %.1f %% of the window", 100*share)
		r.add(results.MetricMemoryStall, "1", share, pressureSource, "")
	}
	for i := range d.Memory {
		m := &d.Memory[i]
		level := strconv.Itoa(m.Up)
		if held := m.HeldHigh(); held != "" {
			r.add(results.MetricMemoryHigh, "1", float64(*m.HighEvents), memoryEvents, held+stalled, level)
			c.warnOf(held + stalled)
		}
		if held := m.HeldMax(); held != "" {
			source := memoryEvents
			if m.V1 {
				source = memoryFailures
			}
			r.add(results.MetricMemoryMax, "1", float64(*m.MaxEvents), source, held+stalled, level)
			c.warnOf(held + stalled)
		}
	}
	for _, x := range []struct {
		name string
		us   *uint64
	}{{"cpu_some", d.Pressure.CPUSome}, {"cpu_full", d.Pressure.CPUFull}, {"memory_some", d.Pressure.MemorySome}, {"memory_full", d.Pressure.MemoryFull}} {
		if x.us != nil {
			r.add("cgroup_pressure_"+x.name+"_us", "us", float64(*x.us), pressureSource, "")
		}
	}
}

func (c *Change) warnOf(held string) {
	if held != "" {
		c.Warnings = append(c.Warnings, held)
	}
}
