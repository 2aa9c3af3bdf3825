// SPDX-License-Identifier: MIT

package results

import "slices"

// What is told of kernel threads that poll the flow's interface (threaded NAPI).
const (
	MetricBusiestPoller = "poller_busiest_cores" // of the one that used most
	MetricBusyPolls     = "poller_busy_polls"    // 1: one of them never rests
)

// pollerFull tells an end one of whose NAPI threads had no time left, wherever it ran. One
// that busy-polls never has, and that says nothing.
func (h *Host) pollerFull() bool {
	return h.value(MetricBusiestPoller) >= fullThread && h.value(MetricBusyPolls) != 1
}

// fullByPolling tells a CPU that busy polling alone may have filled.
func (h *Host) fullByPolling(cpu string) bool {
	return h.value(MetricBusyPolls) == 1 && slices.ContainsFunc(h.Metrics, func(m Metric) bool {
		return m.Name == MetricPollerCores && slices.Equal(m.Of, []string{cpu}) && m.Value > 1-fullCPU
	})
}
