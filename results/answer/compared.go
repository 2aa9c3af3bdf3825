// SPDX-License-Identifier: MIT

package answer

import (
	"slices"

	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
)

// OfComparison answers a comparison of the cells of a set or, if that is nil, of two sources: in
// all sentences, and in short.
func OfComparison(r *compare.Result, s *compare.Set) (*Answer, *Brief) {
	e := Evidence{Set: s, Compared: r}
	if s != nil {
		e.Stops = stopsOf(s)
		for _, row := range r.Rows {
			if m, err := compare.Lookup([]string{row.Metric}); err == nil && m[0].Ranks() &&
				!slices.ContainsFunc(e.Figures, func(f []string) bool { return f[0] == row.Metric }) {
				e.Figures = append(e.Figures, []string{row.Metric})
			}
		}
	}
	a := Of(e)
	return a, Shorten(e, a)
}

// stopsOf groups the cells of a set that have no number by the reasons why.
func stopsOf(s *compare.Set) (out []Stop) {
	for i := range s.Cells {
		c := &s.Cells[i]
		if len(c.Runs) > 0 || c.Refused == nil {
			continue
		}
		stop := Stop{Verdict: c.Refused.Verdict, Reason: c.Refused.Reason, Fix: c.Refused.Fix}
		if c.Unsupported != "" {
			stop.Verdict, stop.Reason = results.Unsupported, c.Unsupported
		}
		k := slices.IndexFunc(out, func(o Stop) bool {
			return o.Verdict == stop.Verdict &&
				o.Reason == stop.Reason && o.Fix == stop.Fix
		})
		if k < 0 {
			k = len(out)
			out = append(out, stop)
		}
		out[k].Cells = append(out[k].Cells, c.Cell.ID)
	}
	return out
}
