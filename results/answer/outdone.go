// SPDX-License-Identifier: MIT

package answer

import (
	"cmp"
	"slices"

	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

// outdone names the cells that have a better figure than the first of a contest and no part in any:
// who reads the table finds them there.
func (w *writer) outdone(c *compare.Contest) string {
	type better struct {
		name   string
		median float64
	}
	var all []better
	for i := range w.Set.Cells {
		x := &w.Set.Cells[i]
		if !fits(&x.Cell, c.Metric.Name) || w.contends(c, x) {
			continue
		}
		sum := stat.Summarize(figuresOf(c.Metric, x.Runs))
		if sum == nil || sum.Median == c.Sum.Median || (sum.Median > c.Sum.Median) != c.Metric.HigherWins {
			continue
		}
		all = append(all, better{x.Cell.ID + " (" + figure(sum, c.Metric) + "; " + outside(x) + ")", sum.Median})
	}
	if all == nil {
		return ""
	}
	slices.SortStableFunc(all, func(a, b better) int {
		if c.Metric.HigherWins {
			a, b = b, a
		}
		return cmp.Compare(a.median, b.median)
	})
	var names []string
	for _, x := range all {
		names = append(names, x.name)
	}
	word := "Higher"
	if !c.Metric.HigherWins {
		word = "Lower"
	}
	return " " + word + ", but not ranked: " + few(names) + "."
}

// contends tells whether a cell has a part in this contest, or in that of other work.
func (w *writer) contends(c *compare.Contest, x *compare.Cell) bool {
	if len(x.Runs) == 0 || x == c.First || slices.ContainsFunc(c.Short, func(m compare.Measured) bool { return m.Cell == x }) {
		return true
	}
	for _, group := range groupsOf(w.Set.Contestants()) {
		if slices.Contains(group, x) {
			return true
		}
	}
	return false
}

func figuresOf(m compare.Metric, runs []*results.Record) (out []float64) {
	for _, r := range runs {
		if v := m.Of(r); v != nil {
			out = append(out, *v)
		}
	}
	return out
}
