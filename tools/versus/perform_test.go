// SPDX-License-Identifier: MIT

package main

import "testing"

// Two groups, of three ways and of two: a round forwards, one backwards, after a warm-up.
func TestPlanIsABBA(t *testing.T) {
	turns := orderTurns([]int{3, 2}, 4)
	if len(turns) != 2*5 {
		t.Fatalf("%d turns, want 2 groups x (1 warm-up + 4)", len(turns))
	}
	order := make([]string, 2)
	for i, turn := range turns {
		if want := []int{3, 2}[turn.group]; len(turn.runs) != want {
			t.Errorf("turn %d of group %d has %d runs, want %d", i, turn.group, len(turn.runs), want)
		}
		for _, at := range turn.runs {
			if at.Warmup != (i < 2) || at.Rep != turn.runs[0].Rep {
				t.Errorf("turn %d has %+v: the first round is the warm-up", i, at)
			}
			if !at.Warmup {
				order[turn.group] += string("ABC"[at.At])
			}
		}
	}
	for g, want := range []string{"ABCCBAABCCBA", "ABBAABBA"} {
		if order[g] != want {
			t.Errorf("group %d runs %s, want %s", g, order[g], want)
		}
	}
}

// One group alone has a turn a round, not one for all.
func TestPlanOfOneGroup(t *testing.T) {
	turns := orderTurns([]int{2}, 6)
	if len(turns) != 7 {
		t.Fatalf("%d turns, want 1 warm-up + 6", len(turns))
	}
}
