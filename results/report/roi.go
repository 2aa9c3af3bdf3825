// SPDX-License-Identifier: MIT

package report

import (
	"bufio"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

//go:embed roi.html.tmpl
var roiText string

// ROI is the return on what the cells cost: throughput^2 / cost, medians over
// the runs of a cell, and whether the order of the cells depends on the
// exponents.
type ROI struct {
	Cells []ROICell `json:"cells"`
	// Sensitivity has a table for each side and cost by which at least two cells
	// can be ordered.
	Sensitivity []Sensitivity `json:"sensitivity,omitempty"`
}

// ROICell is a cell's returns by side; a missing one was not measured.
type ROICell struct {
	Cell  string                    `json:"cell"`
	CPU   map[results.Side]*float64 `json:"cpu,omitempty"`   // (Gbit/s)^2 per core
	Power map[results.Side]*float64 `json:"power,omitempty"` // (Gbit/s)^2 per watt
}

// Sensitivity is how cells are ordered under other exponents.
type Sensitivity struct {
	Side     results.Side     `json:"side"`
	Cost     results.Cost     `json:"cost"`
	Cells    []string         `json:"cells"`
	Rankings []results.Ranked `json:"rankings"`
}

var sides = []results.Side{results.Receiver, results.Sender, results.Total}

// roiOf sums up the ok runs of cells that are no warm-ups; nil if nothing has a
// return.
func roiOf(groups []*cellRuns) *ROI {
	out := &ROI{}
	for _, g := range groups {
		c := ROICell{Cell: g.cell.ID, CPU: map[results.Side]*float64{}, Power: map[results.Side]*float64{}}
		for _, s := range sides {
			if v := g.roi(s, results.CostCPU, 2, 1); v != nil {
				c.CPU[s] = v
			}
			if v := g.roi(s, results.CostPower, 2, 1); v != nil {
				c.Power[s] = v
			}
		}
		if len(c.CPU)+len(c.Power) > 0 {
			out.Cells = append(out.Cells, c)
		}
	}
	if len(out.Cells) == 0 {
		return nil
	}
	for _, cost := range []results.Cost{results.CostCPU, results.CostPower} {
		for _, side := range sides {
			if s := sensitivity(groups, side, cost); s != nil {
				out.Sensitivity = append(out.Sensitivity, *s)
			}
		}
	}
	return out
}

// roi is the median over the runs of a cell.
func (g *cellRuns) roi(side results.Side, cost results.Cost, n, m float64) *float64 {
	var v []float64
	for _, r := range g.runs {
		if r.Warmup || r.Verdict != results.OK {
			continue
		}
		if x := r.ROI(side, cost, n, m); x != nil {
			v = append(v, *x)
		}
	}
	if s := stat.Summarize(v); s != nil {
		return &s.Median
	}
	return nil
}

// sensitivity orders the cells by median throughput and the cost that goes with
// it. ROI with n = 1, m = 1 and n = 0 give both back: T/C and 1/C.
// Cells whose power was measured with other instruments have no order.
func sensitivity(groups []*cellRuns, side results.Side, cost results.Cost) *Sensitivity {
	if cost == results.CostPower && !oneInstrument(groups, side) {
		return nil
	}
	s := &Sensitivity{Side: side, Cost: cost}
	var throughput, costs []float64
	for _, g := range groups {
		perCost, t := g.roi(side, cost, 0, 1), g.roi(side, cost, 1, 0)
		if perCost == nil || t == nil {
			continue
		}
		s.Cells = append(s.Cells, g.cell.ID)
		throughput, costs = append(throughput, *t), append(costs, 1 / *perCost)
	}
	if len(s.Cells) < 2 {
		return nil
	}
	s.Rankings = results.Rankings(throughput, costs)
	return s
}

// oneInstrument reports whether all power figures of a side are comparable.
func oneInstrument(groups []*cellRuns, side results.Side) bool {
	var first [2]*results.Instrument
	for _, g := range groups {
		for _, r := range g.runs {
			for i, h := range []*results.Host{&r.SUT, &r.TG} {
				if h.PowerW == nil || i == 1 && side == results.Receiver || i == 0 && side == results.Sender {
					continue
				}
				by := h.Instrument()
				if first[i] == nil {
					first[i] = &by
				} else if !first[i].Comparable(by) {
					return false
				}
			}
		}
	}
	return true
}

// Best names the cell that leads a ranking.
func (s Sensitivity) Best(r results.Ranked) string { return s.Cells[r.Order[0]] }

// Line says whether the order depends on the exponents.
func (s Sensitivity) Line() string {
	held := 0
	var best []string
	for _, r := range s.Rankings {
		if r.Holds {
			held++
		}
		if b := s.Best(r); !slices.Contains(best, b) {
			best = append(best, b)
		}
	}
	name := fmt.Sprintf("%s, %s", s.Side, s.Cost)
	if held == len(s.Rankings) {
		return fmt.Sprintf("%s: the order of the %d modes holds for all n in 1..3, m in 0.5..2", name, len(s.Cells))
	}
	if len(best) == 1 {
		return fmt.Sprintf("%s: %s leads for all n in 1..3, m in 0.5..2; the whole order holds for %d of %d choices", name, best[0], held, len(s.Rankings))
	}
	return fmt.Sprintf("%s: which mode leads depends on n and m (%s); the order holds for %d of %d choices", name, strings.Join(best, ", "), held, len(s.Rankings))
}

// Grid is the leading cell for each n (rows) and m (columns).
func (s Sensitivity) Grid() [][]string {
	var out [][]string
	for i, n := range results.SensitivityN {
		row := []string{digits3(n)}
		for k := range results.SensitivityM {
			r := s.Rankings[i*len(results.SensitivityM)+k]
			text := s.Best(r)
			if r.Holds {
				text += " ="
			}
			row = append(row, text)
		}
		out = append(out, row)
	}
	return out
}

// Columns are the heads of Grid.
func (Sensitivity) Columns() []string {
	out := []string{"n \\ m"}
	for _, m := range results.SensitivityM {
		out = append(out, digits3(m))
	}
	return out
}

// Figures are a cell's returns as texts: CPU, then power; receiver, sender,
// total.
func (c ROICell) Figures() []string {
	var out []string
	for _, m := range []map[results.Side]*float64{c.CPU, c.Power} {
		for _, s := range sides {
			if v := m[s]; v != nil {
				out = append(out, digits3(*v))
			} else {
				out = append(out, none)
			}
		}
	}
	return out
}

// maxROICells is how many cells a terminal shows; JSON and HTML have all.
const maxROICells = 24

func writeROI(b *bufio.Writer, r *ROI) {
	if r == nil {
		return
	}
	fmt.Fprintf(b, "\nROI = throughput^2 / cost%21s %29s\n", "per busy core", "per watt")
	fmt.Fprintf(b, "%-30s %9s %9s %9s %9s %9s %9s\n", "cell", "receiver", "sender", "total", "receiver", "sender", "total")
	for i, c := range r.Cells {
		if i == maxROICells {
			fmt.Fprintf(b, "... and %d more in the report\n", len(r.Cells)-i)
			break
		}
		fmt.Fprintf(b, "%-30.30s", plaintext.Line(c.Cell))
		for _, f := range c.Figures() {
			fmt.Fprintf(b, " %9s", f)
		}
		fmt.Fprintln(b)
	}
	for _, s := range r.Sensitivity {
		if s.Side == results.Total {
			fmt.Fprintf(b, "T^n / cost^m, %s\n", plaintext.Line(s.Line()))
		}
	}
}
