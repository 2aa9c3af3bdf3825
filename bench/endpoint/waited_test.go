// SPDX-License-Identifier: MIT

package endpoint

import (
	"math"
	"testing"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// A thread that neither ran nor waited for a CPU slept. Without eBPF the kernel's count of packets
// that were polled stands in for its, and says so; what nobody counts is not told.
func TestWaited(t *testing.T) {
	w := &worker{tid: 7}
	w.own = []*flow{{worker: w}}
	r := &run{end: &End{workers: []*worker{w, {tid: 8}}}} // the other has no flow
	c := counter.Change{CPU: counter.CPUUsage{WallS: 2}, Threads: []counter.ThreadDelta{
		{TID: 7, RunNs: 5e8, WaitNs: 3e8, HasWait: true}, {TID: 8, RunNs: 2e9, HasWait: true}}}
	metric := func(name string, v float64) measure.Metric { return measure.Metric{Name: name, Value: v} }
	packets := metric("link_rx_packets", 400)
	for name, x := range map[string]struct {
		host results.Host
		app  float64 // NaN: not told
	}{
		"nothing counted": {results.Host{}, math.NaN()},
		"without eBPF": {results.Host{Metrics: []measure.Metric{packets,
			metric(measure.MetricBusyPolled, 300)}}, 75},
		"without eBPF, none": {results.Host{Metrics: []measure.Metric{packets},
			Idle: []string{measure.MetricBusyPolled}}, 0},
		"with eBPF": {results.Host{Metrics: []measure.Metric{packets, metric(measure.MetricBusyPolled, 300)},
			Idle: []string{measure.MetricAppPolls}}, math.NaN()},
	} {
		h := x.host
		r.waited(&h, c)
		if v := h.Value(measure.MetricAsleep); math.Abs(v-60) > 1e-9 {
			t.Errorf("%s: asleep %v %%", name, v)
		}
		if v := h.Value(measure.MetricPolledByApp); v != x.app && !(math.IsNaN(v) && math.IsNaN(x.app)) {
			t.Errorf("%s: polled by the application %v %%, want %v", name, v, x.app)
		}
	}
	c.Threads[0].HasWait = false
	h := results.Host{}
	if r.waited(&h, c); len(h.Metrics) > 0 {
		t.Errorf("the kernel does not tell of waits: %+v", h.Metrics)
	}
}
