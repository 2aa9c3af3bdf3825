// SPDX-License-Identifier: MIT

package counter

import (
	"math"
	"testing"
)

// fortyEight are the clocks of a host over a second: a TSC of 2 GHz, CPU slow at 1 GHz, the
// others at 3 GHz; each but the flow's two idle for nine tenths.
func fortyEight(slow int) ([]int, EventCounts, EventCounts) {
	b, a := EventCounts{}, EventCounts{}
	var cpus []int
	for c := range 48 {
		cpus = append(cpus, c)
		awake, ghz := .9, 3.0
		if c == slow {
			ghz = 1
		}
		for name, v := range map[string]float64{pmuAPERF: ghz * 1e9 * awake, pmuMPERF: 2e9 * awake, pmuTSC: 2e9} {
			b[name] = append(b[name], alwaysCounted(5, 1000)...)
			a[name] = append(a[name], alwaysCounted(1e9+5, 1000+uint64(v))...)
		}
	}
	return cpus, b, a
}

// One slow CPU of 48 is what the flow ran at, where it is the flow's; the mean of all hides it.
func TestOneSlowCPUOf48(t *testing.T) {
	cpus, b, a := fortyEight(7)
	c := Change{clocks: clocksOf(cpus, b, a, 1)}
	for _, x := range []struct {
		cpus []int
		want float64
	}{{[]int{7}, 1000}, {[]int{6}, 3000}, {[]int{6, 7}, 2000}, {cpus, (47*3000 + 1000) / 48.0}} {
		got := c.FlowMHz(x.cpus)
		if got == nil || math.Abs(*got-x.want) > .5 {
			t.Errorf("CPUs %v: %v MHz, want %v", x.cpus, got, x.want)
		}
	}
	all, one := c.FlowMHz(cpus), c.FlowMHz([]int{7})
	if 1-*all/3000 > .02 || 1-*one/3000 < .5 {
		t.Errorf("all at %v, the flow's at %v MHz: a gate of 2 %% must see the one and cannot see the other", *all,
			*one)
	}
}

// What cannot be measured is not 0.
func TestFlowMHzUnknown(t *testing.T) {
	cpus, b, a := fortyEight(7)
	for name, c := range map[string]Change{
		"no counter": {},
		"no MPERF":   {clocks: clocksOf(cpus, b, EventCounts{pmuAPERF: a[pmuAPERF], pmuTSC: a[pmuTSC]}, 1)},
		"never awake": {clocks: clocksOf(cpus, b, EventCounts{pmuAPERF: b[pmuAPERF], pmuMPERF: b[pmuMPERF],
			pmuTSC: a[pmuTSC]}, 1)},
		"no time":         {clocks: clocksOf(cpus, b, a, 0)},
		"counters reset":  {clocks: clocksOf(cpus, a, b, 1)},
		"of another host": {clocks: clocksOf(cpus[:4], b, a, 1)},
	} {
		if v := c.FlowMHz([]int{7}); v != nil {
			t.Errorf("%s: %v MHz", name, *v)
		}
	}
	if v := (Change{clocks: clocksOf(cpus, b, a, 1)}).FlowMHz(nil); v != nil {
		t.Errorf("of no CPU: %v MHz", *v)
	}
}
