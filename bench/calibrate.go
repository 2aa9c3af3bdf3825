// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
)

// calibrationRuns of each cell tell what shares of a pace are of: the least whose median one
// disturbed run does not move far. Their windows are a fifth of the plan's, as far as that
// is in these bounds. Cells that take turns have one start instead, which lasts as long as all of
// these: a disturbance is no longer than a few turns of each.
const (
	calibrationRuns  = 3
	leastCalibration = 500 * time.Millisecond
	mostCalibration  = 2 * time.Second
)

// calibration plans the runs before all others that show what shares are of: each cell with a share
// runs once without it, in an order like the plan's. Cells that cannot run, and those with a fault
// made on purpose, have none. All statistics take them for warm-ups.
func calibration(s *matrix.Spec, missing func(plan.Cell) *Missing) []matrix.Run {
	var cells []plan.Cell
	known := map[plan.CellKey]bool{}
	for _, c := range s.Cells {
		if c.PacePercent == 0 || c.Control != "" || missing(c) != nil {
			continue
		}
		free := c.AtPaceOf(plan.Cell{})
		if known[free.Key()] {
			continue
		}
		known[free.Key()] = true
		free.ID = strings.ReplaceAll(c.ID, fmt.Sprintf(" pace=%d%%", c.PacePercent), "") + " pace=" + plan.NoPace
		cells = append(cells, free)
	}
	if cells == nil {
		return nil
	}
	var runs []matrix.Run
	if s.TurnLength() > 0 {
		runs = s.OneStart(cells)
		cells = slices.DeleteFunc(cells, func(c plan.Cell) bool { return !c.Alone() })
	}
	runs = append(runs, matrix.Interleave(cells, calibrationRuns, false, s.Seed)...)
	for i := range runs {
		runs[i].Warmup, runs[i].Calibrates = true, true
	}
	return runs
}

// calibratedFirst puts the runs of a calibration before those of a plan. A calibrating start is a
// group's warm-up, too.
func calibratedFirst(first, plan []matrix.Run) []matrix.Run {
	warm := map[int]bool{}
	for _, p := range first {
		if p.Group > 0 {
			warm[p.Group] = true
		}
	}
	out := slices.Clone(first)
	for _, p := range plan {
		if !p.Warmup || !warm[p.Group] || p.Replay != plan[0].Replay {
			out = append(out, p)
		}
	}
	return out
}

// rates are what the shares of a session's paces come to, in each family of cells that are
// compared. All follows from the plan and the journal's records: a session that is resumed has the
// same.
type rates struct {
	family func(plan.Cell) plan.CellKey // nil: all cells are compared
	noted  func(plan.Cell) plan.Cell    // a plan's cell as records have it; nil: as it is

	wanted      []plan.Cell                           // without a pace, of which a calibration run must be ok
	calibration []results.Record                      // its runs, without their metrics
	of          map[plan.CellKey]*results.Calibration // by family; nil: not made yet
	used        map[share]int                         // in runs of the journal
}

// share is one of a family's.
type share struct {
	family  plan.CellKey
	percent int
}

// ratesOf prepares the rates of a plan, none of them known yet.
func ratesOf(s *matrix.Spec, o *Options) rates {
	cells := make([]plan.Cell, len(s.Cells))
	for i, c := range s.Cells {
		cells[i] = o.noted(c)
	}
	return rates{family: compare.Family(cells, s.About), noted: o.noted}
}

// familyOf looks up the family of a cell, from a plan or a record.
func (r *rates) familyOf(c plan.Cell) plan.CellKey {
	if r.family == nil {
		return ""
	}
	return r.family(r.asNoted(c))
}

func (r *rates) asNoted(c plan.Cell) plan.Cell {
	if r.noted == nil {
		return c
	}
	return r.noted(c)
}

// families counts the families into which the cells of a plan's calibration fall.
func (r *rates) families(calibration []matrix.Run) int {
	seen := map[plan.CellKey]bool{}
	for _, p := range calibration {
		seen[r.familyOf(p.Cell)] = true
	}
	return len(seen)
}

// add takes a record into account.
func (r *rates) add(rec results.Record) {
	if rec.Calibrates() {
		outline(&rec)
		r.calibration, r.of = append(r.calibration, rec), nil
	}
	if c := rec.Cell; c.PacePercent != 0 && c.PaceBitsPS != 0 {
		if r.used == nil {
			r.used = map[share]int{}
		}
		r.used[share{r.familyOf(c), c.PacePercent}] = c.PaceBitsPS
	}
}

// want takes note of the cells that shares are of: those of a plan's calibration runs.
func (r *rates) want(planned []matrix.Run) {
	for _, p := range planned {
		if c := r.asNoted(p.Cell); p.Calibrates &&
			!slices.ContainsFunc(r.wanted, func(o plan.Cell) bool { return o.Key() == c.Key() }) {
			r.wanted = append(r.wanted, c)
		}
	}
}

// lacking finds a cell that a family's shares are of and whose rate is not known: it may be the
// slowest. A cell that turned out not to run here is not asked for. It also returns the cell's last
// calibration run, nil where none was made.
func (r *rates) lacking(family plan.CellKey) (cell *plan.Cell, last *results.Record) {
	for i := range r.wanted {
		if r.familyOf(r.wanted[i]) != family {
			continue
		}
		k, ok := r.wanted[i].Key(), false
		last = nil
		for j := range r.calibration {
			if rec := &r.calibration[j]; rec.Cell.Key() == k {
				good, spoilt := rec.TellsRate()
				ok, last = ok || good || spoilt, rec
			}
		}
		if !ok && (last == nil || last.Verdict != results.Unsupported) {
			return &r.wanted[i], last
		}
	}
	return nil, nil
}

// calibrated returns what the shares of a family are of; nil: not known.
func (r *rates) calibrated(family plan.CellKey) *results.Calibration {
	if r.of == nil {
		_, r.of = results.CalibrateEach(r.calibration, r.familyOf)
	}
	return r.of[family]
}

// rate converts a share to a rate; 0: not known.
func (r *rates) rate(s share) int {
	if n := r.used[s]; n != 0 {
		return n
	}
	if of := r.calibrated(s.family); of != nil {
		return of.Share(s.percent)
	}
	return 0
}

// lastOf returns the last calibration run of a family; nil: none was made.
func (r *rates) lastOf(family plan.CellKey) (last *results.Record) {
	for i := range r.calibration {
		if r.familyOf(r.calibration[i].Cell) == family {
			last = &r.calibration[i]
		}
	}
	return last
}

// settle gives a cell with a share its rate, or says why there is none, and what that makes of
// the run: it failed where a rate went unmeasured that another try may measure.
func (r *rates) settle(c *plan.Cell) (*Missing, results.Verdict) {
	if c.PacePercent == 0 {
		return nil, ""
	}
	const fix = "look at the calibration runs in the journal, and resume (--resume makes those that are left); " +
		"or ask for a rate, such as pace: 10G"
	of := share{r.familyOf(*c), c.PacePercent}
	if r.used[of] == 0 {
		if cell, last := r.lacking(of.family); cell != nil {
			return &Missing{Reason: fmt.Sprintf("pace %d%%: unknown base rate: no calibration run of %s was ok%s",
				c.PacePercent, cell.ID, lastly(last)), Fix: fix}, results.Failed
		}
	}
	if c.PaceBitsPS = r.rate(of); c.PaceBitsPS != 0 {
		return nil, ""
	}
	if calibrated := r.calibrated(of.family); calibrated != nil {
		return &Missing{Reason: fmt.Sprintf("pace %d%%: that is below 1M bit/s, with %v", c.PacePercent, calibrated),
			Fix: fix, Blocked: true}, results.Unsupported
	}
	if last := r.lastOf(of.family); last != nil {
		return &Missing{Reason: fmt.Sprintf("pace %d%%: unknown base rate: no cell that it refers to can run here%s",
			c.PacePercent, lastly(last)), Fix: fix, Blocked: last.Blocked}, results.Unsupported
	}
	return &Missing{Reason: fmt.Sprintf("pace %d%%: unknown base rate: no calibration run was made", c.PacePercent),
		Fix: fix}, results.Failed
}

// lastly explains why a calibration run was not ok.
func lastly(rec *results.Record) string {
	if rec == nil || rec.Reason == "" {
		return ""
	}
	return fmt.Sprintf("; the last was %s: %s", rec.Verdict, rec.Reason)
}

// errOtherRates is a journal whose runs were paced otherwise than its calibration says: what
// is added would not be at the same rates.
var errOtherRates = errors.New("the journal's runs were paced to rates other than those its calibration runs give")

// recall takes a journal's records into account.
func (r *rates) recall(recs []results.Record) error {
	for _, rec := range recs {
		r.add(rec)
	}
	for _, rec := range recs { // each: two rates may be of one share, by a plan that was changed
		c := rec.Cell
		if c.PacePercent == 0 || c.PaceBitsPS == 0 {
			continue
		}
		if of := r.calibrated(r.familyOf(c)); of == nil || of.Share(c.PacePercent) != c.PaceBitsPS {
			return fmt.Errorf("%w: %d%% was %d bit/s; a line was lost or changed, the comparisons changed, or an "+
				"older zcbench took its percentages of all cells: start over in another folder",
				errOtherRates, c.PacePercent, c.PaceBitsPS)
		}
	}
	return nil
}

// left returns those calibration runs that what is left of a plan still needs. A family needs none
// once a run was paced by its rates, so that all have the same ones.
func (r *rates) left(runs, planned []matrix.Run) (out []matrix.Run) {
	asked, settled := map[plan.CellKey]bool{}, map[plan.CellKey]bool{}
	for _, p := range planned {
		if p.Cell.PacePercent != 0 {
			asked[r.familyOf(p.Cell)] = true
		}
	}
	for s := range r.used {
		settled[s.family] = true
	}
	made := map[slot]bool{}
	for _, rec := range r.calibration {
		if rec.Verdict == results.OK {
			made[slot{rec.Cell.Key(), rec.Rep}] = true
		}
	}
	for _, p := range runs {
		family := r.familyOf(p.Cell)
		if asked[family] && !settled[family] && !made[slot{r.asNoted(p.Cell).Key(), p.Rep}] {
			out = append(out, p)
		}
	}
	return out
}

// markPace marks a run that missed its pace, and one of a calibration.
func markPace(rec *results.Record, p matrix.Run) {
	if p.Calibrates {
		rec.Flags = append(rec.Flags, results.FlagCalibration)
	}
	if rec.Verdict == results.OK && rec.OffPace() {
		rec.Flags = append(rec.Flags, results.FlagOffPace)
		what := "was faster than its pace"
		if rec.MissedPace() {
			what = "missed its pace"
		}
		text := fmt.Sprintf("%s: %.4g of %.4g Gbit/s (%+.1f %%)", what, *rec.SUT.ThroughputGbps,
			float64(rec.Cell.PaceBitsPS)/1e9, 100**rec.PaceError())
		if n := rec.SUT.Value("turns_left_out"); !rec.MissedPace() && n > 0 {
			text += fmt.Sprintf(": it caught up with what was due in %.0f turns that are left out", n)
		}
		rec.Warnings = append(rec.Warnings, text)
	}
}
