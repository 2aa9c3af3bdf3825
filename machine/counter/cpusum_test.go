// SPDX-License-Identifier: MIT

package counter

import (
	"math"
	"testing"
)

// A CPU that idles through many short windows is not busy: its idle time comes in ticks, of which a
// window has one too many or a part too few.
func TestCPUSumRoundsOnce(t *testing.T) {
	const windows, turn = 100, 66_000_000 // ns
	var sum CPUSum
	var each float64
	var now int64
	at := func() CPUSnapshot { // CPU 0 idles, CPU 1 never does
		return CPUSnapshot{AtNs: now, CPUs: []CPUTicks{{CPU: 0, Idle: uint64(now / 1e7)},
			{CPU: 1, User: uint64(now / 1e7)}}}
	}
	for range windows {
		before := at()
		now += turn
		after := at()
		sum.Add(before, after)
		u := Usage(before, after, nil)
		each += *u.BusyCores * u.WallS
		now += 1_000_000 // between windows
	}
	u := sum.Usage()
	want := float64(windows) * turn / 1e9
	if u.WallS != want {
		t.Errorf("%v s, want %v", u.WallS, want)
	}
	if got := *u.BusyCores * u.WallS; math.Abs(got-want) > 0.1 {
		t.Errorf("busy for %v s, want that of one CPU, %v", got, want)
	}
	if each-want < 0.1 {
		t.Errorf("window by window %v s of %v: the case is none", each, want)
	}
}

// What falls by a rounding in one window is put right by the next; a CPU that is in one reading
// alone is left out.
func TestCPUSumOfCountersThatStepBack(t *testing.T) {
	var sum CPUSum
	for _, idle := range [][2]uint64{{100, 99}, {99, 110}} {
		sum.Add(CPUSnapshot{AtNs: 0, CPUs: []CPUTicks{{CPU: 3, Idle: idle[0]}, {CPU: 4}}},
			CPUSnapshot{AtNs: 100_000_000, CPUs: []CPUTicks{{CPU: 3, Idle: idle[1]}}})
	}
	u := sum.Usage()
	if len(u.PerCPU) != 1 || u.PerCPU[0].CPU != 3 || math.Abs(*u.BusyCores-0.5) > 1e-9 {
		t.Errorf("%+v", u)
	}
	if u := new(CPUSum).Usage(); u.BusyCores != nil {
		t.Errorf("no window: %v cores busy", *u.BusyCores)
	}
}
