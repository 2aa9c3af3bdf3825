// SPDX-License-Identifier: MIT

package counter

import "slices"

// CPUSum adds up windows, so that ticks are rounded once and not in each: where idle time comes in
// ticks of 10 ms, a CPU that idles through a window of 66 ms seems to be busy for 6 ms of it, or
// idle for longer than it lasts, of which [Usage] makes nothing.
type CPUSum struct{ from, to CPUSnapshot }

// Add adds what passed between two readings.
func (s *CPUSum) Add(before, after CPUSnapshot) {
	s.to.AtNs += after.AtNs - before.AtNs
	s.from.ReadNs, s.to.ReadNs = max(s.from.ReadNs, before.ReadNs), max(s.to.ReadNs, after.ReadNs)
	s.to.SampledIdle = s.to.SampledIdle || before.SampledIdle || after.SampledIdle
	s.to.PolledIdle = s.to.PolledIdle || before.PolledIdle || after.PolledIdle
	for _, b := range before.CPUs {
		a := find(after.CPUs, b.CPU)
		if a == nil {
			continue
		}
		at := slices.IndexFunc(s.to.CPUs, func(t CPUTicks) bool { return t.CPU == b.CPU })
		if at < 0 {
			at = len(s.to.CPUs)
			// Sums that do not begin at 0: an idle counter may step back by a rounding.
			s.from.CPUs, s.to.CPUs = append(s.from.CPUs, sumsFrom(b.CPU)), append(s.to.CPUs, sumsFrom(b.CPU))
		}
		s.to.CPUs[at].add(b, *a)
	}
}

// sumsFrom returns what a CPU's sums begin at.
func sumsFrom(cpu int) CPUTicks {
	const n = 1 << 20
	return CPUTicks{CPU: cpu, User: n, Nice: n, System: n, Idle: n, IOWait: n, IRQ: n, SoftIRQ: n, Steal: n}
}

func (t *CPUTicks) add(b, a CPUTicks) {
	t.User += a.User - b.User
	t.Nice += a.Nice - b.Nice
	t.System += a.System - b.System
	t.Idle += a.Idle - b.Idle
	t.IOWait += a.IOWait - b.IOWait
	t.IRQ += a.IRQ - b.IRQ
	t.SoftIRQ += a.SoftIRQ - b.SoftIRQ
	t.Steal += a.Steal - b.Steal
}

// Usage computes what was used in all windows together; see the function Usage.
func (s *CPUSum) Usage() CPUUsage { return Usage(s.from, s.to, nil) }
