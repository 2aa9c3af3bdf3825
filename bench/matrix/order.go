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

// Interleave orders reps repetitions of every cell, after one discarded warm-up
// of each if warmup is set, so that slow drift of the machine hits all cells
// alike: blocks hold every cell once, and every second block runs backwards
// (ABBA), which cancels a linear drift. The cells' order in the first block is
// drawn from seed.
func Interleave(cells []results.Cell, reps int, warmup bool, seed uint64) []Run {
	order := rand.New(rand.NewPCG(seed, 0)).Perm(len(cells))
	blocks, first := reps, 0
	if warmup {
		blocks, first = reps+1, 1
	}
	plan := make([]Run, 0, blocks*len(cells))
	for b := range blocks {
		for i := range order {
			at := order[i]
			if (b-first)&1 == 1 {
				at = order[len(order)-1-i]
			}
			plan = append(plan, Run{Cell: cells[at], Block: b, Rep: max(b-first, 0), Warmup: b < first})
		}
	}
	return plan
}
