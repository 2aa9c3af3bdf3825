// SPDX-License-Identifier: MIT

package endpoint

import (
	"slices"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/tally"
	"github.com/zcbench/zcbench/results"
)

// openTally opens what reads the counters of the end's interface and of its sockets. Where there
// is no such interface the snapshots say so.
func (m *meters) openTally(s wire.EndSpec) {
	if t, err := tally.Open(tally.Config{Dev: s.Dev}); err == nil {
		m.tally = t
	}
}

// tallyNs returns how long reading the tally took.
func (e *edge) tallyNs() int64 {
	if e.tally == nil {
		return 0
	}
	return e.tally.TookNs
}

// tallied computes the rows of the tallies. The names of those that did not move go to h, with
// those that the snapshots have already. Both readings lie outside the snapshots, which are the
// window.
func (r *run) tallied(h *results.Host, idle []string) []measure.Metric {
	from, to := r.from.tally, r.to.tally
	d := tally.Between(from, to)
	rows, still, warnings := d.Rows(r.end.spec.Role == stream.TX)
	h.Idle = results.Fold(slices.Concat(idle, still))
	r.warnings = append(r.warnings, warnings...)
	if from == nil || to == nil {
		return rows
	}
	for _, g := range to.Gaps {
		if !g.Lacking() {
			r.warnings = append(r.warnings, "not measured: "+g.Err.Error())
		}
	}
	return append(rows, measure.Metric{Name: "counter_tally_cpu_ns", Unit: "ns",
		Value: float64(from.CostNs + to.CostNs), Source: "CLOCK_THREAD_CPUTIME_ID"},
		measure.Metric{Name: "counter_tally_wall_ns", Unit: "ns", Value: float64(from.TookNs + to.TookNs),
			Source: "CLOCK_MONOTONIC"})
}
