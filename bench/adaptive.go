// SPDX-License-Identifier: MIT

package bench

import (
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// adaptive fixes how many runs each cell needs, once, after a pilot. To look after every run
// and end where the interval happens to be narrow would make it hold less than it says. A nil
// one never ends a cell.
type adaptive struct {
	pilot    int
	interval float64
	values   map[plan.CellKey]*[len(precise)][]float64
	runs     map[plan.CellKey]int // that count
	need     map[plan.CellKey]int // as fixed after the pilot
	over     map[plan.CellKey]bool
}

// precise are the figures whose intervals are to be narrow: throughput, the receiver's CPU
// time per byte, and the return on both ends' CPU.
var precise = [3]func(*results.Record) *float64{
	func(r *results.Record) *float64 { return r.SUT.ThroughputGbps },
	func(r *results.Record) *float64 { return r.SUT.NsPerKB() },
	func(r *results.Record) *float64 { return r.ROI(results.Total, results.CostCPU, 2, 1) },
}

// newAdaptive takes a.Min runs of each cell for its pilot, no fewer than [stat.MinRuns] and an
// even number: pairs of blocks.
func newAdaptive(a matrix.Adaptive) *adaptive {
	pilot := max(a.Min, stat.MinRuns)
	return &adaptive{pilot: pilot + pilot%2, interval: a.Interval,
		values: map[plan.CellKey]*[len(precise)][]float64{},
		runs:   map[plan.CellKey]int{}, need: map[plan.CellKey]int{}, over: map[plan.CellKey]bool{}}
}

// again returns one like a that knows of no run yet.
func (a *adaptive) again() *adaptive {
	if a == nil {
		return nil
	}
	return newAdaptive(matrix.Adaptive{Min: a.pilot, Interval: a.interval})
}

// Add takes a run into account.
func (a *adaptive) Add(r results.Record) {
	if a == nil || r.Verdict != results.OK || r.Warmup || r.SUT.ThroughputGbps == nil {
		return
	}
	k := r.Cell.Key()
	if a.values[k] == nil {
		a.values[k] = new([len(precise)][]float64)
	}
	a.runs[k]++
	if a.runs[k] > a.pilot {
		return // nothing that comes later moves the number
	}
	for i, of := range precise {
		if v := of(&r); v != nil {
			a.values[k][i] = append(a.values[k][i], *v)
		}
	}
	if a.runs[k] == a.pilot {
		for _, pilot := range a.values[k] {
			a.need[k] = max(a.need[k], a.pilot, stat.RunsAfterPilot(pilot, a.interval))
		}
	}
}

// done reports whether a run can be left out.
func (a *adaptive) done(p matrix.Run) bool {
	return !p.Warmup && a.ended(p.Cell.Key(), p.Rep)
}

// ended reports whether a cell needs no repetition rep, after all those before it. A cell ends only
// after an even number of repetitions: half of them ran in forward blocks and half in backward
// ones, which cancels a drift.
func (a *adaptive) ended(k plan.CellKey, rep int) bool {
	if a == nil {
		return false
	}
	if rep%2 == 0 && a.need[k] > 0 && a.runs[k] >= a.need[k] {
		a.over[k] = true
	}
	return a.over[k]
}
