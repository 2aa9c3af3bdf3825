// SPDX-License-Identifier: MIT

package bench

import (
	"slices"
	"time"

	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// again makes blocks of a plan again, in their place, of which something else on the hosts has
// spoilt a run, and of a block the last try counts ([judge.Blocks]). Runs of no block,
// those of a calibration, are made again alone. Nil makes none again.
type again struct {
	Most  int           // of the plan's runs; 0: as many as there are
	For   time.Duration // since the plan's beginning; 0: as long as it takes
	Once  bool          // a block, but the last one may take what the others left of Most
	Alone bool          // the runs are of no comparison, and each is made again alone
	Plan  []matrix.Run  // whole, for a block of which some runs were made before; nil: none was

	blocks judge.Blocks
	spoilt map[slot]int  // tries of runs of no block that something else spoilt
	alone  map[slot]bool // runs that count of a journal in which each was made again alone
	begun  time.Time
	made   int // again, since then
}

// slot is one repetition of a cell.
type slot struct {
	cell plan.CellKey
	rep  int
}

// begin counts from now on.
func (a *again) begin() {
	if a != nil {
		a.begun, a.made = time.Now(), 0
	}
}

// ofBlock reports whether a run is of a block that is made again as a whole.
func (a *again) ofBlock(p matrix.Run) bool {
	return a != nil && !a.Alone && !p.Warmup && !p.Calibrates && !p.Once
}

// block returns the runs at the beginning of a plan that are made together: one, those of cells
// that take turns, or a block.
func (a *again) block(left []matrix.Run) []matrix.Run {
	n := len(matrix.Start(left))
	for a.ofBlock(left[0]) && n < len(left) && a.ofBlock(left[n]) && left[n].Rep == left[0].Rep {
		n++
	}
	return left[:n]
}

// play makes what [again.block] returned, each run, or those of cells that take turns, as turn
// does: it reports whether to make some of no block again. A block is made again as a whole, at
// most so many times; repeat hears of each of its runs before. It returns the runs of its last try.
func (a *again) play(runs []matrix.Run, replace int, repeat func(matrix.Run),
	turn func([]matrix.Run) (made []results.Record, again bool, err error)) (count []results.Record, err error) {
	if !a.ofBlock(runs[0]) {
		for more := true; more; {
			if _, more, err = turn(runs); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	rep := runs[0].Rep
	number, _ := a.blocks.Next(rep, replace)
	for {
		if count, err = a.try(runs, number, turn); err != nil {
			return nil, err
		}
		next, again := a.blocks.Next(rep, replace)
		if !again {
			return count, nil
		}
		whole := a.whole(runs)
		if a.Once && next > 2 && !a.last(rep) || !a.may(len(whole)) {
			return count, nil
		}
		number, runs = next, whole
		for _, p := range runs {
			repeat(p)
		}
	}
}

// try makes the runs of a block once, and takes note of what spoilt them.
func (a *again) try(runs []matrix.Run, number int,
	turn func([]matrix.Run) (made []results.Record, again bool, err error)) (count []results.Record, err error) {
	runs = slices.Clone(runs)
	for i := range runs {
		runs[i].Try = number
	}
	for left := runs; len(left) > 0; {
		start := matrix.Start(left)
		left = left[len(start):]
		made, _, err := turn(start)
		if err != nil {
			return nil, err
		}
		for i := range made {
			if rec := &made[i]; !rec.Warmup { // a search's trials are none of the block
				a.blocks.Add(rec)
				count = append(count, *rec)
			}
		}
	}
	return count, nil
}

// last reports whether no other block comes after that of a repetition.
func (a *again) last(rep int) bool {
	for _, p := range slices.Backward(a.Plan) {
		if a.ofBlock(p) {
			return p.Rep == rep
		}
	}
	return true
}

// whole returns all runs of a block, also those that an earlier session made, but for those that
// count whatever becomes of it.
func (a *again) whole(runs []matrix.Run) (all []matrix.Run) {
	for _, p := range a.Plan {
		if a.ofBlock(p) && p.Rep == runs[0].Rep && !a.alone[slot{p.Cell.Key(), p.Rep}] {
			all = append(all, p)
		}
	}
	if all == nil {
		return runs
	}
	return all
}

// may reports whether so many runs may be made again, and counts them.
func (a *again) may(runs int) bool {
	if a.Most > 0 && a.made+runs > a.Most || a.For > 0 && time.Since(a.begun) >= a.For {
		return false
	}
	a.made += runs
	return true
}

// wants reports whether to make a run of no block again in its place, because something else spoilt
// it, at most so many times. It counts these.
func (a *again) wants(rec *results.Record, replace int) bool {
	return a.spoils(rec, replace) && a.may(1)
}

// know takes note of a run that a journal has.
func (a *again) know(rec *results.Record, replace int) {
	if a == nil {
		return
	}
	a.blocks.Add(rec)
	again := a.spoils(rec, replace)
	if rec.Try > 0 || rec.Warmup || again || rec.Verdict != results.OK && rec.Verdict != results.Invalid {
		return
	}
	if a.alone == nil {
		a.alone = map[slot]bool{}
	}
	a.alone[slot{rec.Cell.Key(), rec.Rep}] = true
}

// renew has a block made again whole, of which a journal has only a part.
func (a *again) renew(rep int) {
	if a != nil {
		a.blocks.Renew(rep)
	}
}

// spoils counts a run of no block that something else spoilt, and reports whether it may be made
// once more.
func (a *again) spoils(rec *results.Record, replace int) bool {
	if a == nil || rec.Try > 0 || !rec.Spoilt() {
		return false
	}
	if a.spoilt == nil {
		a.spoilt = map[slot]int{}
	}
	k := slot{rec.Cell.Key(), rec.Rep}
	if rec.Calibrates() {
		k.rep = -1 - k.rep // the plan may have the cell without a pace, too
	}
	a.spoilt[k]++
	return a.spoilt[k] <= replace
}
