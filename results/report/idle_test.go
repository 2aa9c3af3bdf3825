// SPDX-License-Identifier: MIT

package report

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

func TestIdle(t *testing.T) {
	host := func(c6, ghz float64) results.Host {
		iowait := 0.35
		h := results.Host{IOWaitCores: &iowait}
		for _, m := range []struct {
			name string
			of   []string
			v    float64
		}{{measure.MetricIdleState, []string{"2", "poll"}, 0.02}, {measure.MetricIdleState, []string{"2", "c1"}, 0},
			{measure.MetricIdleState, []string{"2", "c1e"}, 0.1},
			{measure.MetricIdleState, []string{"2", "c6"}, c6}, {"cpuidle_cpu2_c6_entries", nil, 40},
			{measure.MetricIdleState, []string{"10", "poll"}, 1},
			{"cpuidle_c6_cores", nil, c6}, {measure.MetricGHz, []string{"2"}, ghz}, {"uring_no_iowait", nil, 1},
			{"throttle_core_events", nil, 3}, {"throttle_package_events", nil, 0},
			// of an agent that is broken
			{measure.MetricIdleState, []string{"2"}, 7}, {measure.MetricIdleState, []string{"x", "c6"}, 7},
			{measure.MetricGHz, nil, 7}} {
			h.Metrics = append(h.Metrics, measure.Metric{Name: m.name, Of: m.of, Value: m.v})
		}
		return h
	}
	cell := plan.Cell{ID: "uring/tcp", RX: "uring", TX: "tcp"}
	j := results.Journal{Records: []results.Record{
		{Cell: cell, Verdict: results.OK, SUT: host(0.5, 3), TG: results.Host{}},
		{Cell: cell, Verdict: results.OK, SUT: host(0.7, 3.4)},
		{Cell: cell, Verdict: results.OK, SUT: host(0.6, 3.2)},
		{Cell: cell, Verdict: results.Invalid, SUT: host(0.9, 1)},
		{Cell: cell, Verdict: results.OK, Warmup: true, SUT: host(0.9, 1)},
	}}
	const want = `uring/tcp, sut: % of the window in each idle state; iowait 0.35 cores, io_uring's waits are not in it (NO_IOWAIT); throttle_core_events 3.00
   cpu     poll       c1      c1e       c6      GHz
     2     2.00     0.00    10.00    60.00     3.20
    10   100.00        -        -        -        -

`
	var b strings.Builder
	if err := Idle(&b, j); err != nil || b.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, &b, want)
	}
	b.Reset()
	j.Records = j.Records[3:]
	if err := Idle(&b, j); err != nil || !strings.HasPrefix(b.String(), "no run has idle states") {
		t.Errorf("%v, %q", err, &b)
	}
}
