// SPDX-License-Identifier: MIT

package matrix

import (
	"errors"
	"fmt"
	"math"

	"github.com/goccy/go-yaml/ast"

	"github.com/zcbench/zcbench/plan"
)

// LossFree is how the highest rate without loss is looked for, by cells with the pace loss-free:
// each of their runs is a search.
type LossFree struct {
	Limit float64 // share of a trial's packets that may be lost
	// the pace that passed and the lowest that failed are as near to each other at the end, as a
	// share
	Resolution float64
	Confirm    int // so many times in a row the rate has passed
	Trials     int // after which it is given up
}

// DefaultLossFree returns what holds where a plan does not say how to search.
func DefaultLossFree() LossFree { return LossFree{Resolution: .02, Confirm: 10, Trials: 200} }

// Bounds of LossFree.
const (
	leastResolution = .001
	mostResolution  = .5
	mostConfirm     = 10_000
	mostTrials      = 100_000
)

// Check refuses a search that finds nothing.
func (l LossFree) Check() error {
	switch {
	case !(l.Limit >= 0 && l.Limit < 1):
		return fmt.Errorf("limit %g: must be 0 %% to below 100 %%", l.Limit)
	case !(l.Resolution >= leastResolution && l.Resolution <= mostResolution):
		return fmt.Errorf("resolution %g: must be 0.1 %% to 50 %%", l.Resolution)
	case l.Confirm < 1 || l.Confirm > mostConfirm:
		return fmt.Errorf("confirm %d: must be 1 to %d", l.Confirm, mostConfirm)
	case l.Trials < l.Confirm:
		return fmt.Errorf("trials %d: fewer than confirm, %d", l.Trials, l.Confirm)
	}
	return nil
}

// Usual estimates how many trials a search takes where nothing fails by chance: one as fast as it
// can be, one at what the receiver then took and one at half of it to begin with, those that halve
// the gap between the rates that passed and that failed, and those that confirm.
func (l LossFree) Usual() int {
	return min(3+int(math.Ceil(math.Log2(1/l.Resolution)))+l.Confirm, l.Trials)
}

// Search returns how cells with the pace loss-free look for it.
func (s *Spec) Search() LossFree {
	if s.LossFree == nil {
		return DefaultLossFree()
	}
	return *s.LossFree
}

// lossFree reads the key.
func (s *Spec) lossFree(n ast.Node) error {
	l := DefaultLossFree()
	s.lossFreeAt, s.LossFree = n, &l
	err := readMap(n, "loss_free", []field{
		{"limit", read(&l.Limit, parseFraction)},
		{"resolution", read(&l.Resolution, parseFraction)},
		{"confirm", read(&l.Confirm, within(1, mostConfirm))},
		{"trials", read(&l.Trials, within(1, mostTrials))},
	})
	if err != nil {
		return err
	}
	if err := l.Check(); err != nil {
		return at(n, "loss_free: %v", err)
	}
	return nil
}

// checkLossFree refuses to say how a rate is looked for that no cell looks for.
func (s *Spec) checkLossFree() error {
	if s.LossFree != nil && s.searches() == 0 {
		return placed(s.lossFreeAt, errors.New("loss_free: no cell has pace "+plan.PaceLossFree+
			": add it to pace, or leave loss_free out"))
	}
	return nil
}

// searches counts the runs of the plan that are searches.
func (s *Spec) searches() (n int64) {
	for i := range s.Cells {
		if s.Cells[i].LossFree {
			n += int64(s.Repetitions) * int64(s.Replays())
		}
	}
	return n
}
