// SPDX-License-Identifier: MIT

package answer

import (
	"cmp"
	"slices"

	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

// outdone names the cells that have a better figure than the first of a ranking and no part in any:
// who reads the table finds them there.
func (w *writer) outdone(c *compare.Ranking) string {
	type better struct {
		name   string
		median float64
	}
	var all []better
	contend := w.contend(c)
	for i := range w.Set.Cells {
		x := &w.Set.Cells[i]
		if !fits(&x.Cell, c.Metric.Name) || len(x.Runs) == 0 || contend[x] {
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

// contend collects the cells that take part in this ranking, or in one of other work.
func (w *writer) contend(c *compare.Ranking) map[*compare.Cell]bool {
	of := map[*compare.Cell]bool{c.First: true}
	for _, m := range c.Short {
		of[m.Cell] = true
	}
	for _, x := range w.Set.Candidates() {
		if grouped(&x.Cell) {
			of[x] = true
		}
	}
	return of
}

func figuresOf(m compare.Metric, runs []*results.Record) (out []float64) {
	for _, r := range runs {
		if v := m.Of(r); v != nil {
			out = append(out, *v)
		}
	}
	return out
}
