// SPDX-License-Identifier: MIT

package matrix

import (
	"fmt"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/plan"
)

func cells(n int) []plan.Cell {
	out := make([]plan.Cell, n)
	for i := range out {
		out[i].ID = fmt.Sprint("c", i)
	}
	return out
}

// Under linear drift the mean place of every cell must be the same.
func TestInterleaveCancelsLinearDrift(t *testing.T) {
	const n, reps = 5, 6
	plan := Interleave(cells(n), reps, true, 7)
	if len(plan) != n*(reps+1) {
		t.Fatalf("%d runs, want %d", len(plan), n*(reps+1))
	}
	place, count := map[string]int{}, map[string]int{}
	for i, r := range plan {
		if r.Warmup != (i < n) {
			t.Errorf("run %d: warmup %v", i, r.Warmup)
		}
		if !r.Warmup {
			place[r.Cell.ID] += i
			count[r.Cell.ID]++
		}
	}
	for id, p := range place {
		if count[id] != reps || p != place["c0"] {
			t.Errorf("%s: %d runs at a mean place of %d, c0 at %d", id, count[id], p/reps, place["c0"]/reps)
		}
	}
}

// Each pair of blocks has an order of its own, of which the second block is the reverse.
func TestInterleavePairs(t *testing.T) {
	const n = 8
	plan := Interleave(cells(n), 6, true, 1)
	block := func(b int) (ids []string) {
		for _, r := range plan[b*n : (b+1)*n] {
			ids = append(ids, r.Cell.ID)
		}
		return ids
	}
	for pair := range 3 {
		there, back := block(1+2*pair), block(2+2*pair)
		slices.Reverse(back)
		if !slices.Equal(there, back) {
			t.Errorf("pair %d: %v, and back %v", pair, there, back)
		}
		if pair > 0 && slices.Equal(there, block(1)) {
			t.Errorf("pair %d is in the order of the first", pair)
		}
	}
}

// In a whole square each cell comes right after each other one equally often.
func TestInterleaveNeighbours(t *testing.T) {
	for n, want := range map[int]int{2: 1, 6: 1, 8: 1, 5: 2, 9: 2} {
		blocks := n * want // with the rows backwards
		next := map[[2]string]int{}
		plan := Interleave(cells(n), blocks, false, 3)
		for i := 1; i < len(plan); i++ {
			if plan[i].Block == plan[i-1].Block {
				next[[2]string{plan[i-1].Cell.ID, plan[i].Cell.ID}]++
			}
		}
		if len(next) != n*(n-1) {
			t.Errorf("%d cells: %d kinds of neighbours, want %d", n, len(next), n*(n-1))
		}
		for pair, k := range next {
			if k != want {
				t.Errorf("%d cells: %v %d times, want %d", n, pair, k, want)
			}
		}
	}
}

func TestInterleaveSeed(t *testing.T) {
	first := func(seed uint64) (s string) {
		for _, r := range Interleave(cells(8), 1, false, seed) {
			s += r.Cell.ID
		}
		return s
	}
	one := first(1)
	if again := first(1); again != one {
		t.Errorf("equal seeds gave the orders %s and %s", one, again)
	}
	if first(2) == one {
		t.Error("different seeds gave one order")
	}
}

func TestInterleaveReps(t *testing.T) {
	for i, r := range Interleave(cells(3), 2, true, 1) {
		if want := max(i/3-1, 0); r.Rep != want || r.Block != i/3 {
			t.Errorf("run %d: rep %d block %d, want %d and %d", i, r.Rep, r.Block, want, i/3)
		}
	}
}
