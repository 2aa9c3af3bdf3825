// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
)

func TestInTurn(t *testing.T) {
	cells := []plan.Cell{{ID: "b"}, {ID: "a"}, {ID: "c"}}
	plan := matrix.Interleave(cells, 3, false, 7)
	inTurn(plan, cells)
	var got []string
	for _, p := range plan {
		got = append(got, fmt.Sprintf("%s%d", p.Cell.ID, p.Rep))
	}
	if want := []string{"b0", "a0", "c0", "b1", "a1", "c1", "b2", "a2", "c2"}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
