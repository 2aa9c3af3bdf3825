// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// Blocks are the tries of a plan's blocks, in the order in which they were begun. Where something
// else on the hosts spoilt a run, its whole block is made again, and of a block the last try
// counts, but for the runs of it that are spoilt. Which runs stand beside each other must not
// depend on the cell, because a cell whose runs are longer, or use more CPUs, is hit more often,
// and what hits it goes with how fast the machine is just then: cells are compared by the blocks
// that have an unspoilt run of both. A cell that is spoilt time after time while others are not has
// something of its own: from then on no block is made again for it.
type Blocks struct {
	tries []*try
	at    map[place]*try
}

type place struct{ rep, try int }

// try is one of a block.
type try struct {
	place
	runs    []blockRun
	by      *blockRun // spoilt, for which the block is made again; nil: it is not
	renewed bool      // the block is made again for another reason
}

// blockRun is a run of a block.
type blockRun struct {
	cell   plan.CellKey
	spoilt bool
	well   bool   // it ran, and nothing else spoilt it
	says   string // which run it is, and what spoilt it
	fix    string
}

// hopeless is how many runs of a cell in a row must be spoilt, each time with another of its block
// that was not, until no block is made again for it.
const hopeless = 3

// Add takes a run into account. Those of no block, as warm-ups are, and those of older journals, in
// which runs were made again alone, are left out.
func (b *Blocks) Add(r *results.Record) {
	if r.Warmup || r.Try == 0 {
		return
	}
	if b.at == nil {
		b.at = map[place]*try{}
	}
	p := place{r.Rep, r.Try}
	t := b.at[p]
	if t == nil {
		t = &try{place: p}
		b.at[p], b.tries = t, append(b.tries, t)
	}
	left := strings.HasPrefix(r.Reason, results.BlockSpoilt)
	x := blockRun{cell: r.Cell.Key(), spoilt: r.Spoilt() && !left, well: r.Verdict == results.OK || left}
	if x.spoilt {
		x.says, x.fix = fmt.Sprintf("run %s, %s: %s", r.RunID, r.Cell.ID, r.Reason), r.Fix
	}
	t.runs = append(t.runs, x)
}

// settle finds out after which tries a block is to be made again.
func (b *Blocks) settle() {
	inRow := map[plan.CellKey]int{}
	for _, t := range b.tries {
		t.settle(inRow)
	}
}

// last returns the last try of a repetition; nil: there was none.
func (b *Blocks) last(rep int) (last *try) {
	for _, t := range b.tries {
		if t.rep == rep && (last == nil || t.try > last.try) {
			last = t
		}
	}
	return last
}

// Renew has the block of a repetition made again, although nothing spoilt it.
func (b *Blocks) Renew(rep int) {
	if t := b.last(rep); t != nil {
		t.renewed = true
	}
}

func (t *try) settle(inRow map[plan.CellKey]int) {
	others := slices.ContainsFunc(t.runs, func(r blockRun) bool { return r.well })
	t.by = nil
	for i := range t.runs {
		r := &t.runs[i]
		switch {
		case r.well:
			inRow[r.cell] = 0
		case r.spoilt && others:
			inRow[r.cell]++
		}
		if r.spoilt && t.by == nil && (!others || inRow[r.cell] < hopeless) {
			t.by = r
		}
	}
}

// Next returns the number of the try that a block of a repetition is to be made as, from 1, where
// it is made again so many times, and whether it is another one than before.
func (b *Blocks) Next(rep, replace int) (number int, again bool) {
	b.settle()
	switch last := b.last(rep); {
	case last == nil:
		return 1, false
	case last.by == nil && !last.renewed, last.try > replace:
		return last.try, false
	default:
		return last.try + 1, true
	}
}

// Settle fails the runs of a journal whose block was made again later, and lets those count again
// that earlier versions left out for their CPU frequency.
func Settle(recs []results.Record) {
	unselect(recs)
	var b Blocks
	for i := range recs {
		b.Add(&recs[i])
	}
	b.settle()
	last := map[int]int{}
	for _, t := range b.tries {
		last[t.rep] = max(last[t.rep], t.try)
	}
	for i := range recs {
		r := &recs[i]
		if r.Warmup || r.Verdict != results.OK || r.Try == last[r.Rep] || r.Try == 0 {
			continue
		}
		reason, fix := results.BlockSpoilt, ""
		switch t := b.at[place{r.Rep, r.Try}]; {
		case t.by != nil:
			reason, fix = reason+": "+t.by.says, t.by.fix
		default:
			reason, fix = reason+": a start of it was made in part, and all of it again",
				"nothing: its other try counts"
		}
		r.Fail(plan.ByEnvironment, reason, fix)
	}
}
