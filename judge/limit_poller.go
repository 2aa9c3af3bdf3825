// SPDX-License-Identifier: MIT

package judge

import (
	"slices"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// pollerFull reports whether one of an end's NAPI threads had no time left, wherever it ran. A
// thread that busy-polls never has any, which says nothing.
func pollerFull(h *results.Host) bool {
	return h.Value(measure.MetricBusiestPoller) >= fullThread && h.Value(measure.MetricBusyPolls) != 1
}

// flowPollerFull reports whether the NAPI thread of a flow's queue had no time left, wherever it
// ran.
func flowPollerFull(h *results.Host, n int) bool {
	return n < len(h.Flows) && h.Flows[n].PollerCores != nil && *h.Flows[n].PollerCores >= fullThread
}

// anyPoller reports whether any full NAPI thread of an end speaks for the sum, as [anyCPU]
// does for CPUs: none of its flows says which thread polls for it.
func anyPoller(r *results.Record, h *results.Host) bool {
	return anyCPU(r, h) && !slices.ContainsFunc(h.Flows, func(f results.Flow) bool { return f.PollerCores != nil })
}

// fullByPolling reports whether busy polling alone may have filled a CPU.
func fullByPolling(h *results.Host, cpu string) bool {
	return h.Spun() > 1-fullCPU ||
		h.Value(measure.MetricBusyPolls) == 1 && slices.ContainsFunc(h.Metrics, func(m measure.Metric) bool {
			return m.Name == measure.MetricPollerCores && slices.Equal(m.Of, []string{cpu}) && m.Value > 1-fullCPU
		})
}
