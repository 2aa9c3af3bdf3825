// SPDX-License-Identifier: MIT

package main

import "testing"

func TestPlanIsABBA(t *testing.T) {
	pairs := plan(3, 4)
	if len(pairs) != 3*5 {
		t.Fatalf("%d pairs, want 3 comparisons x (1 warm-up + 4)", len(pairs))
	}
	order := make([]string, 3)
	for i, p := range pairs {
		c := p[0].At / 2
		if len(p) != 2 || p[1].At != p[0].At^1 || p[0].Rep != p[1].Rep {
			t.Errorf("pair %d is %+v, want ours and theirs of one comparison", i, p)
		}
		if p[0].Warmup != (i < 3) || p[1].Warmup != p[0].Warmup {
			t.Errorf("pair %d is %+v: the first round is the warm-up", i, p)
		}
		for _, at := range p {
			if !at.Warmup {
				order[c] += string("AB"[at.At%2])
			}
		}
	}
	for c, got := range order {
		if want := "ABBAABBA"; got != want {
			t.Errorf("comparison %d runs %s, want %s", c, got, want)
		}
	}
}
