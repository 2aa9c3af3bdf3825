// SPDX-License-Identifier: MIT

package wire

import (
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// What probes say has some dozens of rows: a host that sends thousands would have reports compare
// each with each.
func TestProbesAreBounded(t *testing.T) {
	for what, p := range map[string]results.Probes{
		"stages": {Stages: make([]results.Stage, mostProbed+1)},
		"drops":  {Drops: &results.Drops{Places: make([]results.Drop, mostProbed+1)}},
		"points": {Flow: []measure.Series{{Name: "a", T: make([]int64, mostProbed+1),
			V: make([]float64, mostProbed+1)}}},
		"uneven": {Flow: []measure.Series{{Name: "a", T: make([]int64, 2), V: make([]float64, 1)}}},
	} {
		if checkProbes(&p) == nil {
			t.Errorf("%s: taken", what)
		}
	}
	if err := checkProbes(&results.Probes{Stages: make([]results.Stage, 8),
		Flow: []measure.Series{{Name: "a", T: []int64{1, 2}, V: make([]float64, 2)}}}); err != nil {
		t.Error(err)
	}
}
