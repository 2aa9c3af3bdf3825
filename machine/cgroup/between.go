// SPDX-License-Identifier: MIT

package cgroup

import (
	"cmp"
	"fmt"
)

// Between computes what happened from one reading to another of the same groups: the same figures
// as differences, the limits as they were at the end or, where there was none any more, before.
// Nil: one of them is missing. A counter that fell was reset, and is not counted.
func Between(before, after *Reading) *Reading {
	if before == nil || after == nil || len(before.CPU) != len(after.CPU) || len(before.Memory) != len(after.Memory) {
		return nil
	}
	d := &Reading{at: after.at}
	for i, a := range after.CPU {
		b := before.CPU[i]
		a.Max = cmp.Or(a.Max, b.Max)
		if a.Counted = a.Counted && b.Counted && a.Periods >= b.Periods && a.Throttled >= b.Throttled &&
			a.ThrottledUs >= b.ThrottledUs; a.Counted {
			a.Periods, a.Throttled, a.ThrottledUs = a.Periods-b.Periods, a.Throttled-b.Throttled,
				a.ThrottledUs-b.ThrottledUs
		}
		d.CPU = append(d.CPU, a)
	}
	for i, a := range after.Memory {
		b := before.Memory[i]
		a.High, a.Max = cmp.Or(a.High, b.High), cmp.Or(a.Max, b.Max)
		a.HighEvents, a.MaxEvents = grown(b.HighEvents, a.HighEvents), grown(b.MaxEvents, a.MaxEvents)
		d.Memory = append(d.Memory, a)
	}
	x, y := before.Pressure, after.Pressure
	d.Pressure = Pressure{grown(x.CPUSome, y.CPUSome), grown(x.CPUFull, y.CPUFull),
		grown(x.MemorySome, y.MemorySome), grown(x.MemoryFull, y.MemoryFull)}
	return d
}

func grown(b, a *uint64) *uint64 {
	if b == nil || a == nil || *a < *b {
		return nil
	}
	return new(*a - *b)
}

// String words which limit of CPU time it is: "cgroup /x: cpu.max 50000 100000".
func (c *CPU) String() string {
	s := "cgroup " + c.Name + ": cpu.max " + cmp.Or(c.Max, "(lifted since)")
	if c.V1 {
		s += " (cpu.cfs_quota_us, cpu.cfs_period_us)"
	}
	return s
}

// Held words what the limit did; empty: nothing.
func (c *CPU) Held() string {
	if !c.Counted || c.Throttled == 0 {
		return ""
	}
	return fmt.Sprintf("%v throttled it in %d of %d periods", c, c.Throttled, c.Periods)
}

// String words which limits of memory they are: "cgroup /x: memory.high 1048576"; empty: none.
func (m *Memory) String() string {
	s := ""
	if m.High != "" {
		s += " memory.high " + m.High
	}
	if m.Max != "" {
		s += " memory.max " + m.Max
	}
	if s == "" {
		return ""
	}
	s = "cgroup " + m.Name + ":" + s
	if m.V1 {
		s += " (memory.limit_in_bytes)"
	}
	return s
}

// HeldHigh words how often memory.high held tasks back; empty: never.
func (m *Memory) HeldHigh() string {
	if m.HighEvents == nil || *m.HighEvents == 0 {
		return ""
	}
	return fmt.Sprintf("cgroup %s: memory.high %s made tasks reclaim memory %s", m.Name,
		cmp.Or(m.High, "(lifted since)"), times(*m.HighEvents))
}

// HeldMax words how often tasks met memory.max; empty: never.
func (m *Memory) HeldMax() string {
	if m.MaxEvents == nil || *m.MaxEvents == 0 {
		return ""
	}
	name := "memory.max"
	if m.V1 {
		name = "memory.limit_in_bytes"
	}
	return fmt.Sprintf("cgroup %s: %s %s made tasks reclaim memory %s", m.Name, name, cmp.Or(m.Max, "(lifted since)"),
		times(*m.MaxEvents))
}

func times(n uint64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
