// SPDX-License-Identifier: MIT

package endpoint

import (
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/results"
)

// enterCounters enters what the host's counters measured into its half of the run.
func enterCounters(h *results.Host, f counter.Figures) {
	h.CPUBusyCores, h.CPUAppCores, h.CPUSysCores, h.CPUSoftCores = f.CPUBusyCores, f.CPUAppCores, f.CPUSysCores,
		f.CPUSoftCores
	h.IOWaitCores, h.StatCoverage, h.CPUBusyU, h.CPUPollerCores = f.IOWaitCores, f.StatCoverage, f.CPUBusyU,
		f.CPUPollerCores
	h.CPUMHz, h.CPUTempC, h.RXDrops = f.CPUMHz, f.CPUTempC, f.RXDrops
	h.Env.CPUsMeasured, h.Env.IRQCPU = f.CPUsMeasured, f.IRQCPU
	if f.Congestion != "" {
		h.Env.Congestion = f.Congestion
	}
	if f.Retrans != nil {
		h.Retrans = f.Retrans
	}
}
