// SPDX-License-Identifier: MIT

package matrix

import (
	"math/rand/v2"

	"github.com/zcbench/zcbench/results"
)

// Run is one repetition of a cell at its place in the plan.
type Run struct {
	Cell   results.Cell
	Block  int // 0 is the warm-up block where there is one
	Rep    int // repetition, from 0
	Warmup bool
}

// Place is one run of item At at its place in an order.
type Place struct {
	At     int // the item, from 0
	Block  int // 0 is the warm-up block where there is one
	Rep    int // repetition, from 0
	Warmup bool
}

// Order orders reps repetitions of n items, after one discarded warm-up of each
// if warmup is set, so that slow drift of the machine hits all of them alike:
// blocks hold every item once, and every second block runs backwards (ABBA),
// which cancels a linear drift.
func Order(n, reps int, warmup bool) []Place {
	blocks, first := reps, 0
	if warmup {
		blocks, first = reps+1, 1
	}
	order := make([]Place, 0, blocks*n)
	for b := range blocks {
		for at := range n {
			if (b-first)&1 == 1 {
				at = n - 1 - at
			}
			order = append(order, Place{At: at, Block: b, Rep: max(b-first, 0), Warmup: b < first})
		}
	}
	return order
}

// Interleave is [Order] of cells. Their order in the first block is drawn from
// seed.
func Interleave(cells []results.Cell, reps int, warmup bool, seed uint64) []Run {
	first := rand.New(rand.NewPCG(seed, 0)).Perm(len(cells))
	var plan []Run
	for _, p := range Order(len(cells), reps, warmup) {
		plan = append(plan, Run{Cell: cells[first[p.At]], Block: p.Block, Rep: p.Rep, Warmup: p.Warmup})
	}
	return plan
}
