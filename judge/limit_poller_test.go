// SPDX-License-Identifier: MIT

package judge

import (
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// A NAPI thread without time left limits its end wherever it runs, as a full CPU does. One
// that busy-polls is always busy, and so is its CPU: that says nothing of a limit.
func TestLimitedByPoller(t *testing.T) {
	metric := func(name string, v float64, of ...string) measure.Metric {
		return measure.Metric{Name: name, Value: v, Of: of}
	}
	for name, x := range map[string]struct {
		sut  []measure.Metric
		want plan.LimitedBy
	}{
		"none":                  {nil, ""},
		"thread full":           {[]measure.Metric{metric(measure.MetricBusiestPoller, .96)}, plan.ByReceiver},
		"thread with time left": {[]measure.Metric{metric(measure.MetricBusiestPoller, .8)}, ""},
		"busy-polls": {[]measure.Metric{metric(measure.MetricBusiestPoller, 1),
			metric(measure.MetricBusyPolls, 1)}, ""},
		"busy-polls, its CPU": {[]measure.Metric{metric(measure.MetricBusyPolls, 1),
			metric(measure.MetricPollerCores, .99, "3"),
			metric("cpu3_busy_cores", 1)}, ""},
		"busy-polls, another's CPU": {[]measure.Metric{metric(measure.MetricBusyPolls, 1),
			metric(measure.MetricPollerCores, .99, "3"),
			metric("cpu2_busy_cores", 1)}, plan.ByReceiver},
		"its CPU": {[]measure.Metric{metric(measure.MetricPollerCores, .5, "3"), metric("cpu3_busy_cores", 1)},
			plan.ByReceiver},
	} {
		r := results.Record{SUT: results.Host{ThroughputGbps: new(10.), Metrics: x.sut},
			TG: results.Host{DurationS: new(1.)}}
		if got := FindLimit(&r); got != x.want {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
}
