// SPDX-License-Identifier: MIT

package compare

import "github.com/zcbench/zcbench/results/stat"

// equal is the answer to whether two cells are the same for whom a margin does not matter.
type equal struct {
	Margin   float64 `json:"margin"` // fraction
	P        float64 `json:"p"`
	Adjusted float64 `json:"p_adjusted"`
	// Inside tells whether the interval of the ratio is within the margin, too.
	Inside bool `json:"interval_inside"`
}

// Holds reports whether they are equal beyond doubt. As with a difference, this takes both the test
// and the interval: ranks alone call a mode equal that is much slower in every fourth run.
func (e *equal) Holds() bool { return e != nil && e.Inside && e.Adjusted < stat.Alpha }

func inside(q *stat.Ratio, margin float64) bool {
	return q != nil && q.Lo != nil && *q.Lo >= 1-margin && *q.Hi <= 1+margin
}

// Within asks of every row whether its two are within margin (0.02 = 2 %) of each other.
// Families are corrected apart, as verdicts are. Of what was held up by something else, or
// measured by two instruments, it is not known, nor across boots that are too few, nor of the
// costs of unequal work, nor of times between hosts whose clocks are not known so well, nor of
// traffic of which caches may carry so much from turn to turn. What the CPUs' frequencies may hide
// is taken off. It is asked of all runs, too, where gates left some out.
func (r *Result) Within(margin float64) { WithinAll([]*Result{r}, margin) }

func within(rows []*Row, margin float64) {
	var asked []*equal
	var ps []float64
	for _, row := range rows {
		if row.AtLimit != "" || row.Work != "" || row.Other != "" || row.OtherClass != "" || row.Mixed() ||
			row.SumA == nil || row.SumB == nil {
			continue
		}
		if !row.offTells(margin) {
			continue
		}
		most := margin - row.hidden
		p, ok := stat.EquivalentRuns(row.runsA, row.runsB, most, row.between)
		if !ok {
			continue
		}
		row.Equal = &equal{Margin: margin, P: p, Inside: inside(row.Diff.Ratio, most)}
		asked, ps = append(asked, row.Equal), append(ps, p)
	}
	for i, p := range stat.Holm(ps) {
		asked[i].Adjusted = p
	}
}
