// SPDX-License-Identifier: MIT

package matrix

import (
	"slices"
	"testing"
	"time"
)

// Who is first changes from round to round, and there and back each has two turns.
func TestThereAndBack(t *testing.T) {
	for round, want := range [][]int{{0, 1, 2, 2, 1, 0}, {1, 2, 0, 0, 2, 1}, {2, 0, 1, 1, 0, 2}, {0, 1, 2, 2, 1, 0}} {
		if got := ThereAndBack(3, round); !slices.Equal(got, want) {
			t.Errorf("round %d: %v, want %v", round, got, want)
		}
	}
}

// Each has its time in whole rounds.
func TestRoundsOf(t *testing.T) {
	for _, c := range []struct {
		d, each time.Duration
		rounds  int
	}{{time.Second, 50 * time.Millisecond, 10}, {time.Second, 60 * time.Millisecond, 9}, {time.Second, time.Second, 1},
		{2 * time.Second, 20 * time.Millisecond, 50}} {
		if got := RoundsOf(c.d, c.each); got != c.rounds {
			t.Errorf("%v in turns of %v: %d rounds, want %d", c.d, c.each, got, c.rounds)
		}
	}
}
