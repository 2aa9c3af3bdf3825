// SPDX-License-Identifier: MIT

package results

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/zcbench/zcbench/internal/units"
)

// LossFree is what a search for the highest rate without loss has come to.
type LossFree struct {
	// that passed: the pace, or the least that was really sent; 0: none did
	PacketsPerS float64 `json:"packets_per_s,omitempty"`
	Passed      int     `json:"passed,omitempty"` // times in a row
	// the lowest pace that did not, packets a second; 0: none was higher
	FailedAt float64 `json:"failed_at,omitempty"`
	// the sender could do no more: what the receiver can is not known
	BySender bool `json:"limit_is_sender"`
	Trials   int  `json:"trials"`
	GivenUp  bool `json:"given_up"` // before the rate was as sure and as exact as it had to be

	MaxLoss      float64 `json:"max_loss"`               // share of a trial's packets with which it still passes
	Inconclusive int     `json:"inconclusive,omitempty"` // of the trials: runs that say nothing of loss
}

// LossyShare bounds from above, with 95 % confidence, the share of trials at the rate that lose too
// much: none of those that were made did. Nil: none was made.
func (f *LossFree) LossyShare() *float64 {
	if f.Passed == 0 {
		return nil
	}
	return new(1 - math.Pow(0.05, 1/float64(f.Passed)))
}

// mostLossFree bounds its figures, so that no sum of them overflows.
const mostLossFree = 1e15

// Check refuses what no search comes to.
func (f *LossFree) Check() error {
	if f == nil {
		return nil
	}
	for _, v := range []float64{f.PacketsPerS, f.FailedAt} {
		if !(v >= 0 && v <= mostLossFree) {
			return fmt.Errorf("a rate without loss of %g packets/s", v)
		}
	}
	switch {
	case !(f.MaxLoss >= 0 && f.MaxLoss < 1):
		return fmt.Errorf("a rate without loss at which a share of %g may be lost", f.MaxLoss)
	case min(f.Passed, f.Inconclusive) < 0, f.Passed > f.Trials, f.Inconclusive > f.Trials, f.Trials < 1:
		return fmt.Errorf("a search with %d trials, %d passed, %d inconclusive", f.Trials, f.Passed, f.Inconclusive)
	}
	return nil
}

// Tries reports whether the run is a trial of a search.
func (r *Record) Tries() bool { return slices.Contains(r.Flags, FlagTrial) }

// LossFreeRate returns the rate that a search found, packets a second; nil: there was no search, or
// it found none.
func (r *Record) LossFreeRate() *float64 {
	if r.LossFree == nil || !(r.LossFree.PacketsPerS > 0) {
		return nil
	}
	return &r.LossFree.PacketsPerS
}

// lossFreeColumns makes the columns of runs.csv for a search.
func lossFreeColumns() []column {
	of := func(name string, get func(*LossFree) string, set func(*LossFree, string) error) column {
		return optional(column{"loss_free_" + name, func(r *row) string {
			if r.rec.LossFree == nil {
				return ""
			}
			return get(r.rec.LossFree)
		}, func(r *row, s string) error {
			if r.rec.LossFree == nil {
				r.rec.LossFree = &LossFree{}
			}
			return set(r.rec.LossFree, s)
		}})
	}
	rate := func(name string, at func(*LossFree) *float64) column {
		return of(name, func(f *LossFree) string {
			if *at(f) == 0 {
				return ""
			}
			return formatFloat(at(f))
		}, func(f *LossFree, s string) (err error) { *at(f), err = parseFloat(s); return err })
	}
	number := func(name string, at func(*LossFree) *int) column {
		return of(name, func(f *LossFree) string { return strconv.Itoa(*at(f)) },
			func(f *LossFree, s string) (err error) { *at(f), err = units.ParseInt(s); return err })
	}
	return []column{rate("packets_per_s", func(f *LossFree) *float64 { return &f.PacketsPerS }),
		rate("failed_at", func(f *LossFree) *float64 { return &f.FailedAt }),
		number("passed", func(f *LossFree) *int { return &f.Passed }),
		number("trials", func(f *LossFree) *int { return &f.Trials })}
}
