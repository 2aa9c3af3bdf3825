// SPDX-License-Identifier: MIT

package counter

import "slices"

// FlowMHz computes how fast the CPUs cpus ran in the window while they were not idle: the flow's
// CPUs, whatever the rest of the host did. Each is weighted by the time that it was awake. It
// returns nil where this is not known of all of them, as in most virtual machines, which have no
// APERF.
//
// APERF counts at the CPU's clock and MPERF at that of the TSC, both only while the CPU is not
// halted (arch/x86/kernel/cpu/aperfmperf.c, Linux 7.3.4).
func (c Change) FlowMHz(cpus []int) *float64 {
	if len(cpus) == 0 {
		return nil
	}
	var aperf, at float64 // at: what APERF would have counted at 1 MHz
	for _, cpu := range cpus {
		i := slices.IndexFunc(c.clocks, func(k cpuClock) bool { return k.cpu == cpu })
		if i < 0 {
			return nil
		}
		k := c.clocks[i]
		aperf, at = aperf+k.aperf, at+k.mperf/k.tscMHz
	}
	if at <= 0 {
		return nil
	}
	return new(aperf / at)
}

// MHz computes how fast the CPUs ran while they were not idle, between two readings wallS seconds
// apart; nil where it is not known of all of them.
func (p *PMU) MHz(before, after EventCounts, wallS float64) *float64 {
	return Change{clocks: clocksOf(p.cpus, before, after, wallS)}.FlowMHz(p.cpus)
}

// cpuClock is what a CPU's counters of its clock grew by in a window.
type cpuClock struct {
	cpu          int
	aperf, mperf float64
	tscMHz       float64
}

// clocksOf computes the clocks of the CPUs of which all three counters are known.
func clocksOf(cpus []int, b, a EventCounts, wall float64) (out []cpuClock) {
	if wall <= 0 {
		return nil
	}
	for i, cpu := range cpus {
		aperf, _, ok1 := pmuGrowth(b, a, pmuAPERF, i)
		mperf, _, ok2 := pmuGrowth(b, a, pmuMPERF, i)
		tsc, _, ok3 := pmuGrowth(b, a, pmuTSC, i)
		if ok1 && ok2 && ok3 && mperf > 0 && tsc > 0 {
			out = append(out, cpuClock{cpu, aperf, mperf, tsc / countedS(b, a, pmuTSC, i) / 1e6})
		}
	}
	return out
}

// countedS returns how long counter name of the CPU at index i was to count, in seconds: in turns,
// longer than these by what lies between two readings.
func countedS(b, a EventCounts, name string, i int) float64 {
	return float64(a[name][i].EnabledNs-b[name][i].EnabledNs) / 1e9
}

// pmuGrowth computes by how much counter name of the CPU at index i grew, and the share of the time
// that it counted; false: it is not known.
func pmuGrowth(b, a EventCounts, name string, i int) (grown, share float64, ok bool) {
	if len(a[name]) <= i || len(b[name]) <= i {
		return 0, 0, false
	}
	return a[name][i].since(b[name][i])
}
