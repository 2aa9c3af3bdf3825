// SPDX-License-Identifier: MIT

package bench

import (
	"github.com/zcbench/zcbench/bench/matrix"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// Adaptive knows which cells are known well enough. A nil one never is.
type Adaptive struct {
	min      int
	interval float64
	values   map[results.CellKey][]float64
	enough   map[results.CellKey]bool
}

// NewAdaptive ends a cell when it has at least a.Min runs, and no fewer than
// [stat.MinRuns], and the interval of its median throughput is within a.Interval
// of the median.
func NewAdaptive(a matrix.Adaptive) *Adaptive {
	return &Adaptive{min: max(a.Min, stat.MinRuns), interval: a.Interval,
		values: map[results.CellKey][]float64{}, enough: map[results.CellKey]bool{}}
}

// Add takes a run into account.
func (a *Adaptive) Add(r results.Record) {
	if a == nil || r.Verdict != results.OK || r.Warmup || r.SUT.ThroughputGbps == nil {
		return
	}
	k := r.Cell.Key()
	a.values[k] = append(a.values[k], *r.SUT.ThroughputGbps)
}

// done tells whether a run can be left out.
func (a *Adaptive) done(p matrix.Run) bool {
	return !p.Warmup && a.ended(p.Cell.Key(), p.Rep)
}

// ended tells whether a cell needs no repetition rep, after all those before it. A
// cell ends only after an even number of repetitions: half of them ran in forward
// blocks and half in backward ones, which is what cancels a drift.
func (a *Adaptive) ended(k results.CellKey, rep int) bool {
	if a == nil {
		return false
	}
	if !a.enough[k] && rep%2 == 0 && len(a.values[k]) >= a.min {
		w := stat.Summarize(a.values[k]).RelativeWidth()
		a.enough[k] = w != nil && *w <= a.interval
	}
	return a.enough[k]
}
