// SPDX-License-Identifier: MIT

package results

import (
	"slices"

	"github.com/zcbench/zcbench/machine/measure"
)

// pollerFull reports whether one of an end's NAPI threads had no time left, wherever it ran. A
// thread that busy-polls never has any, which says nothing.
func (h *Host) pollerFull() bool {
	return h.value(measure.MetricBusiestPoller) >= fullThread && h.value(measure.MetricBusyPolls) != 1
}

// flowPollerFull reports whether the NAPI thread of a flow's queue had no time left, wherever it
// ran.
func (h *Host) flowPollerFull(n int) bool {
	return n < len(h.Flows) && h.Flows[n].PollerCores != nil && *h.Flows[n].PollerCores >= fullThread
}

// anyPoller reports whether any full NAPI thread of an end speaks for the sum, as [Record.anyCPU]
// does for CPUs: none of its flows says which thread polls for it.
func (r *Record) anyPoller(h *Host) bool {
	return r.anyCPU(h) && !slices.ContainsFunc(h.Flows, func(f Flow) bool { return f.PollerCores != nil })
}

// fullByPolling reports whether busy polling alone may have filled a CPU.
func (h *Host) fullByPolling(cpu string) bool {
	return h.value(measure.MetricBusyPolls) == 1 && slices.ContainsFunc(h.Metrics, func(m measure.Metric) bool {
		return m.Name == measure.MetricPollerCores && slices.Equal(m.Of, []string{cpu}) && m.Value > 1-fullCPU
	})
}
