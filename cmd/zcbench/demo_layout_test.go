// SPDX-License-Identifier: MIT

package main

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
)

// The trial of a demo's layout is of the CPUs that both ends will have.
func TestCPUsOfEnds(t *testing.T) {
	named := 2
	for name, x := range map[string]struct {
		spec matrix.Spec
		want []int
	}{
		"one flow":     {matrix.Spec{Cells: []plan.Cell{{}}}, []int{0, 3}},
		"two flows":    {matrix.Spec{Cells: []plan.Cell{{}, {Flows: 2}}}, []int{0, 1, 2, 3}},
		"more flows":   {matrix.Spec{Cells: []plan.Cell{{Flows: 9}}}, []int{0, 1, 2, 3}},
		"a named CPU":  {matrix.Spec{Cells: []plan.Cell{{}}, SUT: matrix.End{CPU: &named}}, []int{0, 2}},
		"named CPUs":   {matrix.Spec{SUT: matrix.End{CPUs: []int{0, 1}}, TG: matrix.End{CPU: &named}}, []int{0, 1, 2}},
		"the TG's own": {matrix.Spec{SUT: matrix.End{CPUs: []int{0}}}, []int{0, 1}},
	} {
		if got := cpusOfEnds(&x.spec, []int{0, 1, 2, 3}); !slices.Equal(got, x.want) {
			t.Errorf("%s: CPUs %v, want %v", name, got, x.want)
		}
	}
}
