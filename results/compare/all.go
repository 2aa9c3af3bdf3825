// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// allRuns is a comparison as it would be with the runs that gates left out, of an environment
// or an outcome: who sees another verdict should ask why.
type allRuns struct {
	NA      int         `json:"n_a"`
	NB      int         `json:"n_b"`
	Ratio   *stat.Ratio `json:"ratio,omitempty"`
	Verdict string      `json:"verdict"` // as [Row.VerdictText]
	// equal is whether the two are no more than a margin apart, where that was asked.
	Equal *equal `json:"equal,omitempty"`

	row *Row // of all runs
}

// leftOut reports whether the gates left out runs of the cell.
func (c *Cell) leftOut() bool {
	return slices.ContainsFunc(c.All, func(r *results.Record) bool { return r.Verdict != results.OK })
}

// try is a repetition.
type try struct {
	session string
	rep     int
}

// addTry adds a run to those that there would be without gates: of a repetition that was made
// again the first try alone, so that each still stands in its place of a block.
func (c *Cell) addTry(r *results.Record) {
	if c.tried == nil {
		c.tried = map[try]bool{}
	}
	if t := (try{r.SessionID, r.Rep}); !c.tried[t] {
		c.tried[t] = true
		c.All = append(c.All, r)
	}
}

// whole returns a copy of the cell that counts the runs that the gates left out, too.
func (c *Cell) whole() *Cell {
	w := *c
	w.Runs = w.All
	return &w
}

// of returns how many repetitions were made; 0: all of them count.
func (c *Cell) of() int {
	if c.Made <= len(c.Runs) {
		return 0
	}
	return c.Made
}

// made counts the repetitions in a cell's records: a spoilt run and its replacement are one.
func made(runs []*results.Record) int {
	seen := map[int]bool{}
	for _, r := range runs {
		seen[r.Rep] = true
	}
	return len(seen)
}

// withAll adds to the rows of a figure what they would say with all runs. It returns the rows of
// all runs; nil: gates left none out.
func (r *Result) withAll(rows []Row, pairs []pairing, m Metric, declared bool, between stat.Between) []Row {
	whole, any := make([]pairing, len(pairs)), false
	for i, p := range pairs {
		whole[i] = p
		whole[i].a, whole[i].b = p.a.whole(), p.b.whole()
		any = any || p.a.leftOut() || p.b.leftOut()
	}
	if !any {
		return nil
	}
	type key struct{ a, b plan.CellKey }
	all := map[key]*Row{}
	them := r.rowsOf(whole, m, declared, between)
	for i := range them {
		all[key{them[i].A.Key(), them[i].B.Key()}] = &them[i]
	}
	left := map[key]bool{}
	for _, p := range pairs {
		left[key{p.a.Cell.Key(), p.b.Cell.Key()}] = p.a.leftOut() || p.b.leftOut()
	}
	for i := range rows {
		k := key{rows[i].A.Key(), rows[i].B.Key()}
		if w := all[k]; w != nil && left[k] {
			rows[i].All = &allRuns{NA: w.Diff.NA, NB: w.Diff.NB, Ratio: w.Diff.Ratio, row: w}
		}
	}
	return them
}

// settle takes over what the row of all runs says now.
func (a *allRuns) settle() {
	if a != nil && a.row != nil {
		a.Verdict, a.Equal = a.row.VerdictText(), a.row.Equal
	}
}

// Runs formats how many runs of each cell count, "6+6", and out of how many where not all do: "5 of
// 6+6".
func (r *Row) Runs() string { return kOfN(r.Diff.NA, r.OfA) + "+" + kOfN(r.Diff.NB, r.OfB) }

func kOfN(k, n int) string {
	if n <= k {
		return strconv.Itoa(k)
	}
	return fmt.Sprintf("%d of %d", k, n)
}

// AllText formats the verdict with all runs; "" where none were left out.
func (r *Row) AllText() string {
	if r.All == nil {
		return ""
	}
	if q := r.All.Ratio; q != nil {
		return fmt.Sprintf("%s (%.3f, %d+%d)", r.All.Verdict, q.Value, r.All.NA, r.All.NB)
	}
	return fmt.Sprintf("%s (%d+%d)", r.All.Verdict, r.All.NA, r.All.NB)
}
