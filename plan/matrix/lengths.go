// SPDX-License-Identifier: MIT

package matrix

import (
	"fmt"
	"slices"
	"time"

	"github.com/zcbench/zcbench/plan"
)

// Lengths are comparisons at turns of other lengths than the plan's ([plan.OtherTurns]), and of
// cells that are made alone: whether what turns hide matters on these hosts. They are beside the
// plan's own comparisons, with blocks of their own between these, and take no part in them.
type Lengths struct {
	Repetitions int
	Alone       time.Duration // the window of cells that are made alone
}

// What a question compares its turns with, where it has as many repetitions: six starts are the
// least that have an interval, and all blocks of a mode last 30 s together.
var (
	otherLengths = []string{"240ms", "1s", plan.NoTurns}
	lengthsOnce  = Lengths{Repetitions: 6, Alone: 5 * time.Second}
)

func (l *Lengths) check() error {
	if l != nil && (l.Repetitions < 1 || l.Repetitions > maxRepetitions || l.Alone < leastAlone ||
		l.Alone > MostStart) {
		return fmt.Errorf("%d comparisons of turns of other lengths, blocks of %v", l.Repetitions, l.Alone)
	}
	return nil
}

const leastAlone = 100 * time.Millisecond

// AskLengths adds to a question whose cells take turns the receivers that it compares, with one
// flow and as fast as they can, at turns of other lengths and made alone. It reports whether there
// are any.
func (s *Spec) AskLengths() bool {
	if s.Base == nil || unread(s.Base) || s.TurnLength() == 0 {
		return false
	}
	var more []plan.Cell
	for _, c := range s.Cells {
		if c.TX != s.Base.TX || unread(&c) || c.Paced() || c.NFlows() > 1 || c.Turn != "" {
			continue
		}
		for _, length := range otherLengths {
			d := c
			d.Turn, d.ID = length, c.ID+" turn="+length
			more = append(more, d)
		}
	}
	if len(more) < 2*len(otherLengths) {
		return false
	}
	l := lengthsOnce
	l.Repetitions = min(l.Repetitions, s.Repetitions)
	s.Cells, s.Lengths = append(s.Cells, more...), &l
	return true
}

// DropLengths takes out of a plan what it compares at turns of other lengths, where it has none.
func (s *Spec) DropLengths() {
	if s.Lengths == nil {
		return
	}
	other := plan.OtherTurns(s.Cells)
	s.Cells = slices.DeleteFunc(slices.Clone(s.Cells), func(c plan.Cell) bool { return other(&c) })
	s.Lengths = nil
}

// among puts the blocks of other lengths between those of the plan, evenly, with repetitions and
// blocks that are counted on from the plan's.
func (s *Spec) among(own, beside []Run) (all []Run) {
	blocks, first := s.ownBlocks(), 0
	if s.Warmup {
		first = 1
	}
	for i := range beside {
		beside[i].Block += blocks
		beside[i].Rep += even(s.Repetitions)
	}
	rest := byBlock(beside)
	n := len(rest)
	for i, part := range byBlock(own) {
		all = append(all, part...)
		for done := n - len(rest); len(rest) > 0 && i >= first && (done+1)*s.Repetitions <= (i-first+1)*n; done++ {
			all, rest = append(all, rest[0]...), rest[1:]
		}
	}
	return all
}

// byBlock parts runs by their blocks.
func byBlock(runs []Run) (parts [][]Run) {
	for from, i := 0, 1; i <= len(runs); i++ {
		if i == len(runs) || runs[i].Block != runs[from].Block {
			parts, from = append(parts, runs[from:i]), i
		}
	}
	return parts
}

// ownBlocks counts the blocks of a replay without those of other lengths.
func (s *Spec) ownBlocks() int {
	if s.Warmup {
		return s.Repetitions + 1
	}
	return s.Repetitions
}

// perReplay counts the blocks of a replay, and its repetitions: an even number, so that two that
// follow each other are a pair of blocks.
func (s *Spec) perReplay() (blocks, reps int) {
	blocks, reps = s.ownBlocks(), even(s.Repetitions)
	if s.Lengths != nil {
		blocks, reps = blocks+s.Lengths.Repetitions, reps+even(s.Lengths.Repetitions)
	}
	return blocks, reps
}

func even(n int) int { return n + n%2 }
