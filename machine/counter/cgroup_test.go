// SPDX-License-Identifier: MIT

package counter

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/cgroup"
	"github.com/zcbench/zcbench/machine/measure"
)

// What limits did in a window is in rows, with their words, and in warnings; a group without a
// limit has none.
func TestCgroupRows(t *testing.T) {
	n := func(v uint64) *uint64 { return &v }
	before := &cgroup.Reading{
		CPU: []cgroup.CPU{{Name: "/a/b"}, {Name: "/a", Up: 1, Max: "50000 100000", Counted: true, Periods: 10,
			Throttled: 4}},
		Memory:   []cgroup.Memory{{Name: "/a/b", High: "1048576", HighEvents: n(7), MaxEvents: n(3)}},
		Pressure: cgroup.Pressure{MemorySome: n(1000)}}
	after := &cgroup.Reading{
		CPU: []cgroup.CPU{{Name: "/a/b"}, {Name: "/a", Up: 1, Max: "50000 100000", Counted: true, Periods: 506,
			Throttled: 413, ThrottledUs: 9}},
		Memory:   []cgroup.Memory{{Name: "/a/b", High: "1048576", HighEvents: n(8), MaxEvents: n(3)}},
		Pressure: cgroup.Pressure{MemorySome: n(501000)}}
	c, r := Change{}, rows{seconds: 10}
	c.cgroups(&r, before, after)
	all := named(r.out)
	for _, m := range all {
		if err := measure.NewIndex(CgroupMetrics).CheckRow(m.Name, m.Unit, m.Source); err != nil {
			t.Error(err)
		}
	}
	value := func(name string) *float64 {
		for _, m := range all {
			if m.Name == name {
				return &m.Value
			}
		}
		return nil
	}
	for name, want := range map[string]float64{"cgroup_1_periods": 496, "cgroup_1_throttled_periods": 409,
		"cgroup_1_throttled_us":    9,
		"cgroup_1_throttled_share": 409. / 496, "cgroup_0_memory_high": 1, "cgroup_memory_stall": .05,
		"cgroup_pressure_memory_some_us": 500000} {
		if v := value(name); v == nil || *v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
	for _, name := range []string{"cgroup_0_periods", "cgroup_0_memory_max", "cgroup_pressure_cpu_some_us"} {
		if value(name) != nil {
			t.Errorf("%s was not counted, and has a row", name)
		}
	}
	want := []string{"cgroup /a: cpu.max 50000 100000 throttled it in 409 of 496 periods",
		"cgroup /a/b: memory.high 1048576 made tasks reclaim memory once; tasks of its own cgroup waited for " +
			"memory for 5.0 % of the window"}
	if !slices.Equal(c.Warnings, want) {
		t.Errorf("warnings %q, want %q", c.Warnings, want)
	}
	if !slices.ContainsFunc(r.out, func(m measure.Metric) bool {
		return m.Name == measure.MetricThrottled && m.Value == 409./496 && m.Quality == want[0]
	}) {
		t.Errorf("what throttled is not in %+v", r.out)
	}
	if c, r = (Change{}), (rows{}); true {
		c.cgroups(&r, nil, after)
	}
	if r.out != nil {
		t.Errorf("of one reading: %s", strings.TrimSpace(r.out[0].Name))
	}
}

// A limit above a container is not seen, and shows by a thread that waits while its CPU is idle.
func TestHeldByALimitThatIsNotSeen(t *testing.T) {
	for name, x := range map[string]struct {
		busy, run, wait, steal float64 // cores
		switches               uint64
		want                   float64 // 0: no figure
	}{
		"throttled":                   {.3, .3, .69, 0, 100, .69 - .002 - .01},
		"others had its CPU":          {1, .3, .69, 0, 100, 0},
		"the hypervisor had its CPU":  {.4, .3, .69, .6, 100, 0},
		"it slept and woke":           {.3, .3, .3, 0, 20_000, 0},
		"it had what it wanted":       {.9, .9, .01, 0, 100, 0},
		"throttled and often asleep":  {.3, .3, .69, 0, 10_000, .69 - .2 - .01},
		"an edge of the window, only": {.5, .5, .04, 0, 0, 0},
	} {
		c, r := Change{}, rows{seconds: 10}
		c.CPU.PerCPU = []OneCPUUsage{{CPU: 3, CPUFigures: CPUFigures{BusyCores: &x.busy, StealCores: &x.steal,
			UncertaintyCores: .01}}}
		c.Threads = []ThreadDelta{{CPU: 3, RunNs: int64(x.run * 1e10), WaitNs: uint64(x.wait * 1e10), HasWait: true,
			Voluntary: x.switches},
			{CPU: -1, WaitNs: 1e10, HasWait: true}, {CPU: 3, WaitNs: 1e10}, {CPU: 3, WaitNs: 1e10, HasWait: true,
				New: true}}
		c.heldUnseen(&r, 0)
		share, words := 0.0, ""
		for _, m := range named(r.out) {
			if m.Name == measure.MetricUnseenLimit {
				share, words = m.Value, m.Quality
			}
			if err := measure.NewIndex(CgroupMetrics).CheckRow(m.Name, m.Unit, m.Source); err != nil {
				t.Error(err)
			}
		}
		if share < x.want-1e-6 || share > x.want+1e-6 ||
			(words != "") != (x.want > 0) || len(c.Warnings) != len(r.out) {
			t.Errorf("%s: %v, %q; want %v", name, share, words, x.want)
		}
	}
}

// named returns metrics as rows of metrics.csv have them.
func named(all []measure.Metric) []measure.Metric {
	out := slices.Clone(all)
	for i := range out {
		out[i].Name = out[i].Named()
	}
	return out
}
