// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/results"
)

// Means lists what changes the meaning of figures of some kinds, each with in how many of the
// cell's runs: "the SUT was not charged for all of its own softirq (6 of 6 runs)".
func (c *Cell) Means(on results.Kinds) (out []string) {
	said, n := c.caveats(on)
	for i, text := range said {
		out = append(out, fmt.Sprintf("%s (%d of %d runs)", text, n[i], len(c.Runs)))
	}
	return out
}

// caveats collects the caveats of the cell's runs, and counts the runs that have each.
func (c *Cell) caveats(on results.Kinds) (texts []string, runs []int) {
	for _, r := range c.Runs {
		all := r.Caveats()
		for k, x := range all {
			if x.On&on == 0 || slices.ContainsFunc(all[:k], func(y results.Caveat) bool {
				return y.On&on != 0 &&
					y.Text == x.Text
			}) {
				continue
			}
			i := slices.Index(texts, x.Text)
			if i < 0 {
				i, texts, runs = len(texts), append(texts, x.Text), append(runs, 0)
			}
			runs[i]++
		}
	}
	return texts, runs
}

// means lists the caveats of a figure of two cells: each with the cell where only one of the two
// has it, and with the number of runs where not all have.
func means(a, b *Cell, nameA, nameB string, m Metric) (out []string) {
	if text := otherBuffers(&a.Cell, &b.Cell, nameA, nameB); text != "" && a.Source+b.Source == "" {
		out = append(out, text)
	}
	if m.kinds == 0 {
		return out
	}
	inA, nA := a.caveats(m.kinds)
	inB, nB := b.caveats(m.kinds)
	for i, text := range inA {
		k := slices.Index(inB, text)
		switch {
		case k < 0:
			text += in(nA[i], a, nameA)
		case nA[i] < len(a.Runs) || nB[k] < len(b.Runs):
			text += fmt.Sprintf(" in %d of %d runs", nA[i]+nB[k], len(a.Runs)+len(b.Runs))
		}
		out = append(out, text)
	}
	for k, text := range inB {
		if !slices.Contains(inA, text) {
			out = append(out, text+in(nB[k], b, nameB))
		}
	}
	return out
}

func in(n int, c *Cell, name string) string {
	if n == len(c.Runs) {
		return " in " + name
	}
	return fmt.Sprintf(" in %d of %d runs of %s", n, len(c.Runs), name)
}

// meansOf returns [Row.Means] with these names for the cells.
func (r *Row) meansOf(nameA, nameB string) []string {
	if r.Means == nil || r.cells.a == nil {
		return r.Means
	}
	i := slices.IndexFunc(Metrics, func(m Metric) bool { return m.Name == r.Metric })
	return means(r.cells.a, r.cells.b, nameA, nameB, Metrics[i])
}
