// SPDX-License-Identifier: MIT

package results

import (
	"math"
	"testing"

	"github.com/zcbench/zcbench/results/metrics"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
)

func TestJain(t *testing.T) {
	for _, c := range []struct {
		rates []float64
		want  float64
	}{
		{[]float64{7}, 1},
		{[]float64{10, 10, 10, 10}, 1},
		{[]float64{40, 0, 0, 0}, .25},                     // 1/n
		{[]float64{10, 20}, .9},                           // 30² / (2 × 500): where FairJain is
		{[]float64{30, 20, 10}, 3600.0 / 4200},            // 60² / (3 × 1400)
		{[]float64{1e200, 2e200}, .9},                     // no square is beyond a float
		{[]float64{12.5, 12.5, 12.5, 2.5}, 1600.0 / 1900}, // 40² / (4 × 475)
	} {
		if got := jain(c.rates); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: %v, want %v", c.rates, got, c.want)
		}
	}
	if v := jain([]float64{0, 0}); !math.IsNaN(v) {
		t.Errorf("of nothing: %v", v)
	}
}

// Several flows that were measured have a spread, by the receiver's figures, which is metrics.
func TestFlowSpread(t *testing.T) {
	run := func(gbps ...float64) Record {
		r := Record{Cell: plan.Cell{Flows: len(gbps)}}
		for _, v := range gbps {
			r.SUT.Flows = append(r.SUT.Flows, Flow{ThroughputGbps: new(v)})
		}
		return r
	}
	r := run(30, 10, 20, 40)
	if s := r.FlowSpread(); s == nil || s.Min != 10 || s.Median != 25 || s.Max != 40 ||
		math.Abs(s.Jain-10000.0/12000) > 1e-12 {
		t.Errorf("%+v", s)
	}
	r.SUT.Metrics = r.FlowSpread().Metrics()
	if got := len(r.SUT.Metrics); got != 4 || r.SUT.Value(measure.MetricFlowMedian) != 25 {
		t.Errorf("%+v", r.SUT.Metrics)
	}
	for _, m := range r.SUT.Metrics {
		if err := metrics.CheckRow(m.Name, m.Unit, m.Source); err != nil {
			t.Error(err)
		}
	}
	unmeasured := run(1, 2)
	unmeasured.SUT.Flows[1].ThroughputGbps = nil
	for name, r := range map[string]Record{"one": run(7), "none": run(), "nothing moved": run(0, 0),
		"not measured": unmeasured} {
		if r.FlowSpread() != nil {
			t.Errorf("%s: %+v", name, r.FlowSpread())
		}
	}
}
