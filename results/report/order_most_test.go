// SPDX-License-Identifier: MIT

package report

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// The table has a rank of each cell, however many there are. Where only the best were told apart,
// the report says so, and none of the others is among those that lead.
func TestRanksOfManyCells(t *testing.T) {
	cells := map[string][2]float64{}
	for i := range 36 {
		cells[fmt.Sprintf("c%02d", i)] = [2]float64{400 * math.Pow(.94, float64(i)), 1}
	}
	s := Summarize(roiPlan(1, 14, cells))
	for i, c := range s.ROI.Cells {
		if want := fmt.Sprint(i + 1); c.RankText() != want || c.Cell != fmt.Sprintf("c%02d", i) {
			t.Errorf("%s has rank %s, want %s", c.Cell, c.RankText(), want)
		}
	}
	const said = "; only the best 30 of 36 cells by each n and m were compared"
	for _, x := range s.ROI.Sensitivity {
		if line := x.Line(); !strings.Contains(line, said) ||
			strings.Contains(line, ", except for n = 2, m = 1") != (x.Side == "total") {
			t.Error(line)
		}
	}
	for name := range cells {
		cells[name] = [2]float64{100, 1}
	}
	x := total(t, Summarize(roiPlan(1, 14, cells)))
	for _, r := range x.Rankings {
		if n := len(r.Leaders()); r.Tested != 0 && n > r.Tested {
			t.Errorf("n = %g, m = %g: %d lead, of %d that were tested", r.N, r.M, n, r.Tested)
		}
	}
	few := Summarize(roiPlan(1, 8, map[string][2]float64{"a": {100, 1}, "b": {50, 1}}))
	if line := total(t, few).Line(); strings.Contains(line, "were compared") {
		t.Error(line)
	}
}
