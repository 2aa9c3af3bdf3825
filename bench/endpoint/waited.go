// SPDX-License-Identifier: MIT

package endpoint

import (
	"math"
	"slices"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// waited adds how the flows waited for packets: how much of the time their threads slept, and where
// eBPF does not tell who polled, what the kernel counts of it.
func (r *run) waited(h *results.Host, c counter.Change) {
	if v, ok := r.asleep(c); ok {
		h.Metrics = append(h.Metrics, measure.Metric{Name: measure.MetricAsleep, Unit: "%", Value: v,
			Source: "CLOCK_THREAD_CPUTIME_ID; /proc/PID/task/TID/schedstat"})
	}
	app, packets := h.Counted(measure.MetricBusyPolled), h.Counted("link_rx_packets")
	told := !math.IsNaN(h.Counted(measure.MetricAppPolls))
	if told || !(app >= 0) || !(packets > 0) {
		return
	}
	h.Metrics = append(h.Metrics, measure.Metric{Name: measure.MetricPolledByApp, Unit: "%",
		Value: 100 * min(app/packets, 1), Source: "/proc/net/netstat",
		Quality: "of the packets that the interface counts, of which a poll may bring several as one"})
}

// asleep computes the share of the window in which the threads that move the flows neither ran nor
// waited for a CPU, %.
func (r *run) asleep(c counter.Change) (percent float64, ok bool) {
	var awake float64
	n := 0
	for _, w := range r.end.workers {
		if len(w.own) == 0 {
			continue
		}
		t := slices.IndexFunc(c.Threads, func(t counter.ThreadDelta) bool { return t.TID == w.tid })
		if t < 0 || w.first().inProcess() || !c.Threads[t].HasWait {
			return 0, false
		}
		awake += float64(c.Threads[t].RunNs) + float64(c.Threads[t].WaitNs)
		n++
	}
	if n == 0 || c.CPU.WallS <= 0 {
		return 0, false
	}
	return 100 * max(1-awake/1e9/c.CPU.WallS/float64(n), 0), true
}
