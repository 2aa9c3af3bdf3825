// SPDX-License-Identifier: MIT

package compare

import "github.com/zcbench/zcbench/results/stat"

// Equal is the answer to whether two cells are the same for whom a margin does not matter.
type Equal struct {
	Margin   float64 `json:"margin"` // fraction
	P        float64 `json:"p"`
	Adjusted float64 `json:"p_adjusted"`
}

// Holds tells whether they are, beyond doubt.
func (e *Equal) Holds() bool { return e != nil && e.Adjusted < stat.Alpha }

// Within asks of every row whether its two are within margin (0.02 = 2 %) of each other.
// Families are corrected apart, as verdicts are. Of what was held up by something else, or
// measured by two instruments, it is not known, nor across boots that are too few, nor of the
// costs of unequal work. It is asked of all runs, too, where gates left some out.
func (r *Result) Within(margin float64) {
	for from := 0; from < len(r.Rows); {
		to := from
		for to < len(r.Rows) && r.Rows[to].Metric == r.Rows[from].Metric {
			to++
		}
		for _, family := range families(r.Rows[from:to]) {
			within(family, margin)
		}
		from = to
	}
	for _, rows := range r.whole {
		for _, family := range families(rows) {
			within(family, margin)
		}
	}
	for i := range r.Rows {
		r.Rows[i].All.settle()
	}
}

func within(rows []*Row, margin float64) {
	var asked []*Equal
	var ps []float64
	for _, row := range rows {
		if row.AtLimit != "" || row.Work != "" || row.Other != "" || row.OtherClock != "" || row.Mixed() || row.SumA == nil || row.SumB == nil {
			continue
		}
		p, ok := stat.EquivalentRuns(row.runsA, row.runsB, margin, row.between)
		if !ok {
			continue
		}
		row.Equal = &Equal{Margin: margin, P: p}
		asked, ps = append(asked, row.Equal), append(ps, p)
	}
	for i, p := range stat.Holm(ps) {
		asked[i].Adjusted = p
	}
}
