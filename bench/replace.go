// SPDX-License-Identifier: MIT

package bench

import (
	"time"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// again makes runs again, in their place, that something else on the hosts has spoilt. Nil makes
// none again.
type again struct {
	Most int           // of the plan's runs; 0: as many as there are
	For  time.Duration // since the plan's beginning; 0: as long as it takes

	spoilt map[slot]int // tries that something else spoilt
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

// wants reports whether to make a run again in its place, because something else spoilt it, at most
// so many times. It counts these.
func (a *again) wants(rec *results.Record, replace int) bool {
	if !a.spoils(rec, replace) || a.Most > 0 && a.made >= a.Most || a.For > 0 && time.Since(a.begun) >= a.For {
		return false
	}
	a.made++
	return true
}

// spoils counts a run that something else spoilt, and reports whether it may be made once more.
func (a *again) spoils(rec *results.Record, replace int) bool {
	if a == nil || !rec.Spoilt() {
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
