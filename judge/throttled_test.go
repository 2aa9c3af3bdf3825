// SPDX-License-Identifier: MIT

package judge

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// A run of which a control group held an end back is made again, and says which it was; where it
// is let count, that is its limit.
func TestThrottled(t *testing.T) {
	const held = "cgroup /x: cpu.max 50000 100000 throttled it in 409 of 496 periods"
	share := func(v float64) measure.Metric {
		return measure.Metric{Name: measure.MetricThrottled, Of: []string{"0"}, Value: v, Quality: held}
	}
	high := measure.Metric{Name: measure.MetricMemoryHigh, Of: []string{"1"}, Value: 3,
		Quality: "cgroup /y: memory.high 9 made tasks reclaim memory 3 times"}
	stall := func(v float64) measure.Metric { return measure.Metric{Name: measure.MetricMemoryStall, Value: v} }
	off := plan.DefaultGates()
	off.Throttled = nil
	for name, c := range map[string]struct {
		tg      bool
		metrics []measure.Metric
		gates   plan.Gates
		reason  string
		limit   plan.LimitedBy
	}{
		"throttled": {false, []measure.Metric{share(.82)}, plan.DefaultGates(), "SUT: " + held,
			plan.ByCgroup},
		"the sender": {true, []measure.Metric{share(.82)}, plan.DefaultGates(), "TG: " + held,
			plan.ByCgroup},
		"allowed":                  {false, []measure.Metric{share(.82)}, off, "", plan.ByCgroup},
		"once in ten seconds":      {false, []measure.Metric{share(.01)}, plan.DefaultGates(), "SUT: " + held, ""},
		"a limit that did nothing": {false, []measure.Metric{share(0)}, plan.DefaultGates(), "", ""},
		"memory.high": {false, []measure.Metric{high, stall(.3)}, plan.DefaultGates(),
			"SUT: " + high.Quality, plan.ByCgroup},
		"memory.high, without waits": {false, []measure.Metric{high, stall(0)}, plan.DefaultGates(), "", ""},
		"memory.high, waits unknown": {false, []measure.Metric{high}, plan.DefaultGates(), "SUT: " + high.Quality,
			plan.ByCgroup},
		"waits of another reason": {false, []measure.Metric{stall(.3)}, plan.DefaultGates(), "", ""},
	} {
		r := results.Record{Verdict: results.OK, Cell: plan.Cell{RX: "tcp", TX: "tcp"}}
		r.SUT.ThroughputGbps = new(7.5)
		if r.SUT.Metrics = c.metrics; c.tg {
			r.SUT.Metrics, r.TG.Metrics = nil, c.metrics
		}
		Conclude(&r)
		if r.Limit != c.limit {
			t.Errorf("%s: limited by %q, want %q", name, r.Limit, c.limit)
		}
		Run(c.gates, &r)
		want := results.OK
		if c.reason != "" {
			want = results.Invalid
		}
		if r.Verdict != want || r.Reason != c.reason || want == results.Invalid &&
			(r.Gate != plan.ByEnvironment || !strings.Contains(r.Fix, "gates.throttled: off")) {
			t.Errorf("%s: %s, %q by %q, fix %q; want %q", name, r.Verdict, r.Reason, r.Gate, r.Fix, c.reason)
		}
	}
}

// A window that was read late because its reader was throttled is the limit's doing, too.
func TestThrottledLate(t *testing.T) {
	r := results.Record{}
	r.Fail(plan.ByEnvironment, "SUT: the window of 1s lasted 1400 ms", "end other work")
	r.SUT.Metrics = []measure.Metric{{Name: measure.MetricThrottled, Of: []string{"0"}, Value: .9,
		Quality: "cgroup /x: cpu.max 1 2 throttled it in 9 of 10 periods"}}
	for range 2 { // once is enough
		Run(plan.DefaultGates(), &r)
		if want := "SUT: cgroup /x: cpu.max 1 2 throttled it in 9 of 10 periods; SUT: the window of 1s lasted " +
			"1400 ms"; r.Reason != want || !strings.Contains(r.Fix, "docker") {
			t.Errorf("%q, fix %q", r.Reason, r.Fix)
		}
	}
}
