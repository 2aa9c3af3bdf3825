// SPDX-License-Identifier: MIT

package results

import (
	"fmt"
	"math"
	"slices"

	"github.com/zcbench/zcbench/plan"
)

// paceAsked is the column of what was asked for, as it was.
var paceAsked = optional(column{"pace",
	func(r *row) string { return plan.RawPace(&r.rec.Cell) },
	func(r *row, s string) error { return plan.LoadPace(&r.rec.Cell, s) }})

// Calibrates reports whether the run was made to calibrate the pace. To statistics it is a warm-up;
// if something else spoilt it, it is judged and replaced as a run that counts.
func (r *Record) Calibrates() bool { return slices.Contains(r.Flags, FlagCalibration) }

// PaceError computes by which share of the pace a run was faster or slower; nil if it had no pace
// or no rate was measured.
func (r *Record) PaceError() *float64 {
	if r.Cell.PaceRate() == 0 || r.SUT.ThroughputGbps == nil {
		return nil
	}
	e := *r.SUT.ThroughputGbps*1e9/float64(r.Cell.PaceRate()) - 1
	if every := r.Cell.Every().Seconds(); every > 0 && r.SUT.DurationS != nil && *r.SUT.DurationS > 0 {
		// The window's edges are in the middle of objects: one more or less of each flow is none.
		one := every / *r.SUT.DurationS
		e = math.Copysign(max(math.Abs(e)-one, 0), e)
	}
	return &e
}

// OffPace reports whether the run was off its pace, slower or faster.
func (r *Record) OffPace() bool {
	e := r.PaceError()
	return e != nil && math.Abs(*e) > plan.PaceTolerance
}

// MissedPace reports whether the run was slower than its pace: one that was faster holds it.
func (r *Record) MissedPace() bool {
	e := r.PaceError()
	return e != nil && *e < -plan.PaceTolerance
}

// Calibration is what shares of a pace are of: the median without a pace of the slowest of the
// cells that are compared.
type Calibration struct {
	BitsPS int    `json:"bits_ps"`
	Cell   string `json:"cell"`  // the slowest
	Runs   int    `json:"runs"`  // of it
	Cells  int    `json:"cells"` // that were measured
}

// TellsRate reports whether a calibration run tells its cell's rate: it was ok. So does, where
// there is no such run, one that took turns and that something else spoilt: it slowed all down
// alike, so that shares are of less, and all hold them. Of a run in which nothing came there are no
// shares.
func (r *Record) TellsRate() (ok, spoilt bool) {
	if !r.Calibrates() || r.SUT.ThroughputGbps == nil || !(*r.SUT.ThroughputGbps > 0) {
		return false, false
	}
	// a rate of turns, and not of all the time that it took
	t, s := r.Turns, r.SUT.DurationS
	spoilt = r.Spoilt() && t != nil && s != nil && *s*1e9 < 2*float64(t.TurnNs)*float64(t.Turns)
	return r.Verdict == OK, spoilt
}

// Calibrate makes a calibration of records of cells that are compared, of the runs that are marked
// as such: see [Record.TellsRate]. Nil: there are none.
func Calibrate(recs []Record) *Calibration {
	rates, ids := map[plan.CellKey][]float64{}, map[plan.CellKey]string{}
	good := map[plan.CellKey]bool{}
	var keys []plan.CellKey
	for i := range recs {
		r := &recs[i]
		k := r.Cell.Key()
		ok, spoilt := r.TellsRate()
		if !ok && (!spoilt || good[k]) {
			continue
		}
		if ids[k] == "" {
			keys, ids[k] = append(keys, k), r.Cell.ID
		}
		if ok && !good[k] {
			good[k], rates[k] = true, nil
		}
		rates[k] = append(rates[k], *r.SUT.ThroughputGbps)
	}
	var c *Calibration
	for _, k := range keys {
		slices.Sort(rates[k])
		n := len(rates[k])
		bits := int((rates[k][(n-1)/2] + rates[k][n/2]) / 2 * 1e9)
		if c == nil || bits < c.BitsPS {
			c = &Calibration{BitsPS: bits, Cell: ids[k], Runs: n}
		}
	}
	if c != nil {
		c.Cells = len(keys)
	}
	return c
}

// CalibrateEach makes one of each family of cells, in the order of their runs.
func CalibrateEach(recs []Record, family func(plan.Cell) plan.CellKey) (keys []plan.CellKey,
	of map[plan.CellKey]*Calibration) {
	runs := map[plan.CellKey][]Record{}
	for _, r := range recs {
		if !r.Calibrates() {
			continue
		}
		k := family(r.Cell)
		if runs[k] == nil {
			keys = append(keys, k)
		}
		runs[k] = append(runs[k], r)
	}
	of = map[plan.CellKey]*Calibration{}
	for _, k := range keys {
		of[k] = Calibrate(runs[k])
	}
	return keys, of
}

// Share computes a percentage of the calibrated rate, cut to three digits; 0 if that is too slow
// for a pace.
func (c *Calibration) Share(percent int) int {
	n, unit := c.BitsPS/100*percent, 1
	for n/unit >= 1000 {
		unit *= 10
	}
	if n = n / unit * unit; n < plan.LeastPace {
		return 0
	}
	return n
}

// String describes what 100 % of the pace is.
func (c *Calibration) String() string {
	s := fmt.Sprintf("100 %% of pace is %.3g Gbit/s: ", float64(c.BitsPS)/1e9)
	if c.Runs == 1 {
		s += "what an unpaced run had of " + c.Cell
	} else {
		s += fmt.Sprintf("the median of %d unpaced runs of %s", c.Runs, c.Cell)
	}
	if c.Cells > 1 {
		s += fmt.Sprintf(", the slowest of %d cells", c.Cells)
	}
	return s
}
