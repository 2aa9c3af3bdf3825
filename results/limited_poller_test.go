// SPDX-License-Identifier: MIT

package results

import "testing"

// A NAPI thread without time left limits its end wherever it runs, as a full CPU does. One
// that busy-polls is always busy, and so is its CPU: that says nothing of a limit.
func TestLimitedByPoller(t *testing.T) {
	metric := func(name string, v float64, of ...string) Metric { return Metric{Name: name, Value: v, Of: of} }
	for name, x := range map[string]struct {
		sut  []Metric
		want LimitedBy
	}{
		"none":                  {nil, ""},
		"thread full":           {[]Metric{metric(MetricBusiestPoller, .96)}, ByReceiver},
		"thread with time left": {[]Metric{metric(MetricBusiestPoller, .8)}, ""},
		"busy-polls":            {[]Metric{metric(MetricBusiestPoller, 1), metric(MetricBusyPolls, 1)}, ""},
		"busy-polls, its CPU": {[]Metric{metric(MetricBusyPolls, 1), metric(MetricPollerCores, .99, "3"),
			metric("cpu3_busy_cores", 1)}, ""},
		"busy-polls, another's CPU": {[]Metric{metric(MetricBusyPolls, 1), metric(MetricPollerCores, .99, "3"),
			metric("cpu2_busy_cores", 1)}, ByReceiver},
		"its CPU": {[]Metric{metric(MetricPollerCores, .5, "3"), metric("cpu3_busy_cores", 1)},
			ByReceiver},
	} {
		r := Record{SUT: Host{ThroughputGbps: new(10.), Metrics: x.sut}, TG: Host{DurationS: new(1.)}}
		if got := r.FindLimit(); got != x.want {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
}
