// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// busySibling is how busy, in cores, the other thread of a core may be beside one of the flow's:
// what two threads of a core do at once takes each of them up to twice as long.
const busySibling = .05

// siblings flags a run while which other threads of its CPUs' cores were busy: what the flow's CPUs
// did took longer for that.
func siblings(r *results.Record) {
	for _, role := range ends.Roles {
		h := r.Host(role)
		for _, m := range h.Metrics {
			if m.Name != measure.MetricSiblingBusy || len(m.Of) != 1 {
				continue
			}
			doubt := 0.
			if i := slices.IndexFunc(h.Metrics, func(u measure.Metric) bool {
				return u.Name == measure.MetricSiblingUncertainty && slices.Equal(u.Of, m.Of)
			}); i >= 0 {
				doubt = h.Metrics[i].Value
			}
			if m.Value > busySibling+doubt {
				r.Mark(results.FlagBusySibling, fmt.Sprintf("%s: CPU %s, which shares a core with one of the "+
					"flow's CPUs, was busy for %.0f %% of the time and slowed that down: keep other work off it "+
					"(cpusets, interrupts' affinities), or switch SMT off",
					role.Label(), m.Of[0], 100*m.Value))
			}
		}
	}
}
