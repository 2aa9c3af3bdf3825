// SPDX-License-Identifier: MIT

package counter

import (
	"math"
	"strings"
	"testing"
)

// alwaysCounted are events that had a counter for all of some time.
func alwaysCounted(ns uint64, values ...uint64) (out []EventCount) {
	for _, v := range values {
		out = append(out, EventCount{v, ns, ns})
	}
	return out
}

// An event that had a counter for a part of the time is scaled up by that of the window, whatever
// it was before; one that had none, or began anew, counted nothing that anybody knows.
func TestEventSince(t *testing.T) {
	for _, x := range []struct {
		name        string
		b, a        EventCount
		want, share float64
		ok          bool
	}{
		{"alone", EventCount{100, 1e9, 1e9}, EventCount{1100, 2e9, 2e9}, 1000, 1, true},
		{"idle", EventCount{100, 1e9, 1e9}, EventCount{100, 2e9, 2e9}, 0, 1, true},
		{"half of the window", EventCount{100, 1e9, 1e9}, EventCount{1100, 2e9, 1.5e9}, 2000, .5, true},
		{"all of the window, half before it", EventCount{100, 1e9, .5e9}, EventCount{1100, 2e9, 1.5e9}, 1000, 1, true},
		{"none of the window", EventCount{100, 1e9, .5e9}, EventCount{100, 2e9, .5e9}, 0, 0, false},
		{"began anew", EventCount{100, 1e9, 1e9}, EventCount{50, 2e9, 2e9}, 0, 0, false},
		{"no time", EventCount{100, 1e9, 1e9}, EventCount{100, 1e9, 1e9}, 0, 0, false},
		{"never opened", EventCount{}, EventCount{}, 0, 0, false},
	} {
		got, share, ok := x.a.since(x.b)
		if math.Abs(got-x.want) > 1e-6 || math.Abs(share-x.share) > 1e-9 || ok != x.ok {
			t.Errorf("%s: %g, %g, %v; want %g, %g, %v", x.name, got, share, ok, x.want, x.share, x.ok)
		}
	}
}

// Cycles that were counted in turn with other events say so; those of a CPU that had no counter are
// not 0, and the CPUs' sum is not that of the others.
func TestSharedCycles(t *testing.T) {
	var r rows
	r.pmu([]int{0, 1}, EventCounts{pmuCycles: alwaysCounted(1e9, 0, 0)},
		EventCounts{pmuCycles: {{1e9, 2e9, 1.25e9}, {4e9, 2e9, 2e9}}}, 1, "")
	got := map[string]float64{}
	for _, m := range r.out {
		got[m.Name] = m.Value
		if shared := m.Name != "pmu_cpu1_cycles_per_s"; shared != strings.Contains(m.Quality, "75 %") {
			t.Errorf("%s: %q", m.Name, m.Quality)
		}
	}
	if got["pmu_cpu0_cycles_per_s"] != 4e9 || got["pmu_cpu1_cycles_per_s"] != 4e9 || got["pmu_cycles"] != 8e9 ||
		len(got) != 3 {
		t.Errorf("%v", got)
	}
	var starved rows
	starved.pmu([]int{0, 1}, EventCounts{pmuCycles: alwaysCounted(1e9, 7, 0)},
		EventCounts{pmuCycles: {{7, 2e9, 1e9}, {4e9, 2e9, 2e9}}}, 1, "")
	if len(starved.out) != 1 || starved.out[0].Name != "pmu_cpu1_cycles_per_s" {
		t.Errorf("%+v", starved.out)
	}
}
