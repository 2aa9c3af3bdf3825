// SPDX-License-Identifier: MIT

package endpoint

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/tally"
	"github.com/zcbench/zcbench/results"
)

// openTally opens what reads the counters of the end's interface and of its sockets. Where there
// is no such interface the snapshots say so.
func (m *meters) openTally(s wire.EndSpec, in *inside) {
	if t, err := tally.Open(tally.Config{FS: in.files(), Dev: s.Dev}); err == nil {
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
	if r.turns != nil { // turns_read_us tells
		return rows
	}
	return append(rows, measure.Metric{Name: "counter_tally_cpu_ns", Unit: "ns",
		Value: float64(from.CostNs + to.CostNs), Source: "CLOCK_THREAD_CPUTIME_ID"},
		measure.Metric{Name: "counter_tally_wall_ns", Unit: "ns", Value: float64(from.TookNs + to.TookNs),
			Source: "CLOCK_MONOTONIC"})
}

// areas are what is read of the interface at the edges of turns besides its own counters, as far as
// it is of that time.
func (t *turnReader) areas() (all []counter.TurnOther) {
	t.sums = map[string]*tally.Sum{}
	if t.run.nic == nil { // it has no queues and no driver that anybody asks
		return nil
	}
	for _, a := range tally.SumAreas {
		if !a.Kernels && !t.ofTurns {
			continue
		}
		sum := &tally.Sum{}
		t.sums[a.Area] = sum
		most := mostTurnCounts / (2 * max(t.run.sch.InWindow(), 1))
		all = append(all, counter.TurnOther{What: "counters of " + a.Area, Read: func() (any, error) {
			x, err := t.run.tally.ReadArea(a.Area)
			switch {
			case x == nil: // and not a pointer that is nil
				return nil, err
			case len(x.Counts) > most:
				return nil, fmt.Errorf("%d %s counters, at most %d are read in so many turns", len(x.Counts), a.Area,
					most)
			}
			return x, nil
		}, Add: func(before, after any) {
			from, _ := before.(*tally.Reading)
			to, _ := after.(*tally.Reading)
			sum.Add(from, to)
		}})
	}
	return all
}

// mostTurnCounts bounds what an end reads of them in all, each some 300 bytes: garbage is not
// collected meanwhile.
const mostTurnCounts = 100_000
