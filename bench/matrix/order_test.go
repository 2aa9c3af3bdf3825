// SPDX-License-Identifier: MIT

package matrix

import (
	"fmt"
	"testing"

	"github.com/zcbench/zcbench/results"
)

func cells(n int) []results.Cell {
	out := make([]results.Cell, n)
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
