// SPDX-License-Identifier: MIT

package matrix

import (
	"math/rand/v2"

	"github.com/zcbench/zcbench/plan"
)

// Run is one repetition of a cell at its place in the plan.
type Run struct {
	Cell       plan.Cell
	Block      int // 0 is the warm-up block where there is one
	Rep        int // repetition, from 0
	Warmup     bool
	Try        int  // of its block, from 1; 0: it is of none
	Group      int  // of cells that take turns in a block, from 1; 0: the run is made by itself
	Replay     int  // of the plan, from 0
	Calibrates bool // a run without a pace, before all others, that tells what shares of it are of
	Trial      bool // of a search for the highest rate without loss
	Once       bool // shows what its cell does, and is compared with none
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

// Interleave puts cells in [Order]. Each pair of blocks, forwards and backwards, has an order of
// its own: a row of a Williams square with its lines shuffled and its items drawn from seed
// (Williams 1949). So no cell follows another twice before it has followed all: what a run leaves
// behind, heat or memory, does not meet the same cell each time.
func Interleave(cells []plan.Cell, reps int, warmup bool, seed uint64) (plan []Run) {
	for _, p := range interleave(len(cells), reps, warmup, seed) {
		plan = append(plan, Run{Cell: cells[p.At], Block: p.Block, Rep: p.Rep, Warmup: p.Warmup})
	}
	return plan
}

// interleave does what [Interleave] does, with n items.
func interleave(n, reps int, warmup bool, seed uint64) []Place {
	rng := rand.New(rand.NewPCG(seed, 0))
	var rows [][]int
	places := Order(n, reps, warmup)
	for i := range places {
		p := &places[i]
		pair := p.Rep / 2 // the warm-up is in the order of the first pair
		for pair >= len(rows) {
			rows = append(rows, williams(rng, n, (reps+1)/2-len(rows))...)
		}
		p.At = rows[pair][p.At]
	}
	return places
}

// williams returns at most so many of a square's rows, shuffled: with all rows and those read
// backwards each of n items comes once (n even) or twice (odd) right after each other. Of an even
// square the second half is the first half backwards.
func williams(rng *rand.Rand, n, most int) [][]int {
	item, lines := rng.Perm(n), n
	if n%2 == 0 {
		lines = n / 2
	}
	var rows [][]int
	for _, shift := range rng.Perm(lines)[:min(lines, most)] {
		row := make([]int, n)
		for i := range row {
			zigzag := i / 2 // 0, n-1, 1, n-2, ...
			if i%2 == 1 {
				zigzag = n - 1 - i/2
			}
			row[i] = item[(zigzag+shift)%n]
		}
		rows = append(rows, row)
	}
	return rows
}
