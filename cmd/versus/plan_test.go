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
		if p.Comparison != i%3 || p.Rep != i/3-1 {
			t.Errorf("pair %d is %+v: rounds must hold every comparison once, in order", i, p)
		}
		if p.Rep < 0 {
			continue
		}
		if p.OursFirst {
			order[p.Comparison] += "AB"
		} else {
			order[p.Comparison] += "BA"
		}
	}
	for c, got := range order {
		if want := "ABBAABBA"; got != want {
			t.Errorf("comparison %d runs %s, want %s", c, got, want)
		}
	}
}
