// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// counters: measuring took little of what is measured. Counters are read at the edges of the
// window, outside of it; the sampler of time series runs in it.
func counters(g plan.Gates, r *results.Record) *failure {
	if g.Counters == nil {
		return nil
	}
	for _, role := range ends.Roles {
		h := r.Host(role)
		i := slices.IndexFunc(h.Metrics, func(m measure.Metric) bool { return m.Name == "counter_sampler_cores" })
		if i < 0 || h.CPUBusyCores == nil || *h.CPUBusyCores <= 0 {
			continue
		}
		if share := h.Metrics[i].Value / *h.CPUBusyCores; share > *g.Counters {
			return &failure{"counters",
				fmt.Sprintf("%s: the time series took %.2f %% of the measured CPU time (limit %g %%)", role.Label(),
					100*share, 100**g.Counters),
				"use a longer --sample-interval, or 0 for none"}
		}
	}
	return nil
}
