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

// openTally opens what reads the counters of the end's interfaces and of its sockets. Where there
// is no such interface the snapshots say so.
func (m *meters) openTally(s wire.EndSpec, in *inside) {
	devs := s.Devs()
	for i, dev := range devs {
		c := tally.Config{FS: in.files(), Dev: dev}
		if len(devs) > 1 {
			c.Place = &i
		}
		t, err := tally.Open(c)
		switch {
		case err != nil:
		case i == 0:
			m.tally = t
		default:
			m.more = append(m.more, t)
		}
	}
}

// readTallies reads the counters of all interfaces at an edge.
func (r *run) readTallies(e *edge) {
	e.tally, e.more = r.tally.Read(r.end.sockets()...), nil
	for _, t := range r.more {
		e.more = append(e.more, t.Read())
	}
}

// tallies lists what was read of the interfaces.
func (e *edge) tallies() []*tally.Reading { return append([]*tally.Reading{e.tally}, e.more...) }

// tallyNs returns how long reading the tally took.
func (e *edge) tallyNs() int64 {
	return took(e.tallies(), func(t *tally.Reading) int64 { return t.TookNs })
}

// took adds up what reading took.
func took(all []*tally.Reading, of func(*tally.Reading) int64) (sum int64) {
	for _, t := range all {
		if t != nil {
			sum += of(t)
		}
	}
	return sum
}

// tallied computes the rows of the tallies. The names of those that did not move go to h, with
// those that the snapshots have already. Both readings lie outside the snapshots, which are the
// window.
func (r *run) tallied(h *results.Host, idle []string) []measure.Metric {
	from, to := r.from.tally, r.to.tally
	var rows []measure.Metric
	before, after := r.from.tallies(), r.to.tallies()
	for i := range min(len(before), len(after)) {
		d := tally.Between(before[i], after[i])
		own, still, warnings := d.Rows(r.end.spec.Role == stream.TX)
		rows, idle = append(rows, own...), slices.Concat(idle, still)
		r.warnings = append(r.warnings, warnings...)
	}
	h.Idle = results.Fold(idle)
	if from == nil || to == nil {
		return rows
	}
	for _, x := range after {
		if x == nil {
			continue
		}
		for _, g := range x.Gaps {
			if !g.Lacking() {
				r.warnings = append(r.warnings, "not measured: "+g.Err.Error())
			}
		}
	}
	if r.turns != nil { // turns_read_us tells
		return rows
	}
	cost := took(slices.Concat(before, after), func(t *tally.Reading) int64 { return t.CostNs })
	return append(rows, measure.Metric{Name: "counter_tally_cpu_ns", Unit: "ns", Value: float64(cost),
		Source: "CLOCK_THREAD_CPUTIME_ID"},
		measure.Metric{Name: "counter_tally_wall_ns", Unit: "ns", Value: float64(r.from.tallyNs() + r.to.tallyNs()),
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
