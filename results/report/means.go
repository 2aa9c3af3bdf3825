// SPDX-License-Identifier: MIT

package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
)

// Kinds of figures that stand in the table of cells, and in those of returns.
const (
	ofCPU  = results.OfSUTCPU | results.OfTGCPU | results.OfAllCPU
	ofRows = ofCPU | results.OfPower | results.OfNetPower | results.OfPackets | results.OfTrips
)

var ofCosts = map[results.Cost]results.Kinds{
	results.CostCPU:      ofCPU,
	results.CostPower:    results.OfPower,
	results.CostNetPower: results.OfPower | results.OfNetPower,
}

// meanings collects the caveats that change what figures of cells mean: those of all runs of all
// cells, which stand once beside the table, and the others of each cell.
func meanings(cells []*compare.Cell, on results.Kinds) (all []string, each [][]string) {
	each = make([][]string, len(cells))
	said := map[string]int{} // by how many cells, of all their runs
	runs, of := 0, 0
	for i, c := range cells {
		if c == nil || len(c.Runs) == 0 {
			continue
		}
		of, runs = of+1, runs+len(c.Runs)
		each[i] = c.Means(on)
		for _, text := range each[i] {
			said[ofAllRuns(text, c)]++
		}
	}
	if of < 2 {
		return nil, each
	}
	for i, c := range cells {
		each[i] = slices.DeleteFunc(each[i], func(text string) bool {
			what := ofAllRuns(text, c)
			if what == "" || said[what] < of {
				return false
			}
			if line := fmt.Sprintf("%s (%d of %[2]d runs)", what, runs); !slices.Contains(all, line) {
				all = append(all, line)
			}
			return true
		})
	}
	return all, each
}

// ofAllRuns strips the count from a caveat that holds for all runs of a cell; "": it holds only for
// some.
func ofAllRuns(text string, c *compare.Cell) string {
	what, ok := strings.CutSuffix(text, fmt.Sprintf(" (%d of %[1]d runs)", len(c.Runs)))
	if !ok {
		return ""
	}
	return what
}

// setsOf returns what comparisons know of the cells.
func setsOf(groups []*cellRuns) (out []*compare.Cell) {
	for _, g := range groups {
		out = append(out, g.set)
	}
	return out
}

// mean gives the cells what changes the meaning of their figures.
func (s *Summary) mean(groups []*cellRuns) {
	all, each := meanings(setsOf(groups), ofRows)
	s.Means = all
	for i := range s.Cells {
		s.Cells[i].Means = each[i]
	}
}

// mean gives the returns by each cost what changes their meaning.
func (r *roi) mean(groups []*cellRuns) {
	known := make(map[string]*compare.Cell, len(groups))
	for _, g := range slices.Backward(groups) { // the first of a name
		known[g.cell.ID] = g.set
	}
	for _, cost := range costs {
		var sets []*compare.Cell
		var of []int
		for i := range r.Cells {
			if len(*r.Cells[i].of(cost)) == 0 {
				continue
			}
			sets, of = append(sets, known[r.Cells[i].Cell]), append(of, i)
		}
		all, each := meanings(sets, ofCosts[cost])
		if all != nil {
			if r.Means == nil {
				r.Means = map[results.Cost][]string{}
			}
			r.Means[cost] = all
		}
		for k, i := range of {
			if each[k] == nil {
				continue
			}
			if r.Cells[i].Means == nil {
				r.Cells[i].Means = map[results.Cost][]string{}
			}
			r.Cells[i].Means[cost] = each[k]
		}
	}
}

// meansOf joins the caveats of all returns on a cost.
func (r *roi) meansOf(cost results.Cost) string { return strings.Join(r.Means[cost], "; ") }

// Said joins what stands beside a cell's returns: about its place, and what changes their meaning.
func (c roiCell) Said() string {
	var words []string
	if c.Caveat != "" {
		words = append(words, c.Caveat)
	}
	for _, cost := range costs {
		for _, text := range c.Means[cost] {
			if !slices.Contains(words, text) {
				words = append(words, text)
			}
		}
	}
	return strings.Join(words, "; ")
}

// Said joins what stands beside all returns.
func (r *roi) Said() string {
	var words []string
	for _, cost := range costs {
		for _, text := range r.Means[cost] {
			if !slices.Contains(words, text) {
				words = append(words, text)
			}
		}
	}
	return strings.Join(words, "; ")
}

// writeMeans writes below a table what is said of all its rows.
func writeMeans(b *screen.Writer, text string) {
	if text != "" {
		wrap(b, "", "  ", "in all rows: "+plaintext.Line(text))
	}
}
