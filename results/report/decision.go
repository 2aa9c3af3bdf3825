// SPDX-License-Identifier: MIT

package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// decision is throughput beside what it costs, a mark a cell: which cells are worth choosing is to
// be seen by it.
type decision struct {
	side  results.Side
	cost  results.Cost
	file  string // its name
	marks []mark
	// costless are cells without this cost, and others those whose flows are no plain streams:
	// neither has a mark.
	costless, others []string
	more             int // cells whose marks are left out: there are too many
}

// mark is a cell in it.
type mark struct {
	number   int // of the cell, from 1
	cell     *Cell
	name     string // as short as the others allow
	setting  string
	x, y     *stat.Summary // cost and throughput
	runs     [][2]float64  // cost and throughput of each
	discards bool          // the payload: it is a bound and no choice
	frontier bool          // no other mark has more throughput at no more cost
}

// axes are the costs that a chart may be against, the first that has most cells. Watts are better
// than cores where they are there.
var axes = []struct {
	side results.Side
	cost results.Cost
}{
	{results.Total, results.CostPower},
	{results.Receiver, results.CostPower},
	{results.Total, results.CostCPU},
	{results.Receiver, results.CostCPU},
}

// decisionsOf builds the charts of the streams' cells that ran at full speed: the first by the cost
// that most cells have, and one by the other cost where any cell has it. None has a cost: nil.
func decisionsOf(groups []*cellRuns, cells []Cell) (out []*decision) {
	best := map[bool]*decision{} // by whether it is of power
	for _, a := range axes {
		power := a.cost != results.CostCPU
		if power && !oneInstrument(groups, a.side) {
			continue
		}
		d := &decision{side: a.side, cost: a.cost}
		for i, g := range groups {
			switch {
			case g.cell.Paced() || len(g.counted()) == 0:
			case g.cell.MovesPackets() || g.cell.RoundTrips():
				d.others = append(d.others, plaintext.Line(g.cell.ID))
			case !d.add(i, g, &cells[i]):
				d.costless = append(d.costless, plaintext.Line(g.cell.ID))
			}
		}
		if len(d.marks) > 0 && (best[power] == nil || len(d.marks) > len(best[power].marks)) {
			best[power] = d
		}
	}
	for _, power := range []bool{true, false} {
		if d := best[power]; d != nil {
			out = append(out, d)
		}
	}
	if len(out) == 2 && len(out[1].marks) > len(out[0].marks) {
		out[0], out[1] = out[1], out[0]
	}
	for i, d := range out {
		d.file = decisionName
		if i > 0 {
			d.file += map[bool]string{true: "_power", false: "_cpu"}[d.cost == results.CostPower]
		}
		d.name(cells)
		d.find()
		d.leave()
	}
	return out
}

// add adds the mark of a cell; false: it has none.
func (d *decision) add(i int, g *cellRuns, c *Cell) bool {
	m := mark{number: i + 1, cell: c, discards: g.set != nil && g.set.Discards()}
	var x, y []float64
	for _, r := range g.counted() {
		t, per := r.SUT.ThroughputGbps, r.ROI(d.side, d.cost, 0, 1) // of the receiver, whoever pays
		if t == nil || per == nil || *per <= 0 {
			continue
		}
		x, y = append(x, 1 / *per), append(y, *t)
		m.runs = append(m.runs, [2]float64{1 / *per, *t})
	}
	if len(x) == 0 {
		return false
	}
	m.x, m.y = stat.Summarize(x), stat.Summarize(y)
	d.marks = append(d.marks, m)
	return true
}

// name finds the shortest names that tell the cells apart: one end's modes where the other's are
// all one.
func (d *decision) name(cells []Cell) {
	settingOf, long := settings(cells), shortNames(cells)
	rx, tx, seen := map[string]bool{}, map[string]bool{}, map[string]int{}
	for _, m := range d.marks {
		rx[m.cell.Cell.RX], tx[m.cell.Cell.TX] = true, true
	}
	short := func(m *mark) string {
		switch {
		case len(tx) == 1:
			return plaintext.Line(m.cell.Cell.RX)
		case len(rx) == 1:
			return plaintext.Line(m.cell.Cell.TX)
		}
		return long[m.number-1]
	}
	for i := range d.marks {
		seen[short(&d.marks[i])]++
	}
	for i := range d.marks {
		m := &d.marks[i]
		m.setting = plaintext.Line(settingOf[m.number-1])
		if m.name = short(m); seen[m.name] > 1 {
			m.name = fmt.Sprintf("#%d %s", m.number, m.name)
		}
	}
}

// find marks the frontier: of the medians, from the cheapest cell on, each that is faster than all
// that are cheaper.
func (d *decision) find() {
	order := make([]*mark, 0, len(d.marks))
	for i := range d.marks {
		if !d.marks[i].discards {
			order = append(order, &d.marks[i])
		}
	}
	slices.SortFunc(order, func(a, b *mark) int {
		return cmp.Or(cmp.Compare(a.x.Median, b.x.Median), cmp.Compare(b.y.Median, a.y.Median),
			cmp.Compare(a.number, b.number))
	})
	fastest := 0.0
	for _, m := range order {
		if m.y.Median > fastest {
			fastest, m.frontier = m.y.Median, true
		}
	}
}

// leave leaves marks out where there are too many: those beyond the frontier first.
func (d *decision) leave() {
	d.more = max(0, len(d.marks)-mostDrawn)
	if d.more == 0 {
		return
	}
	slices.SortStableFunc(d.marks, func(a, b mark) int {
		switch {
		case a.frontier == b.frontier:
			return 0
		case a.frontier:
			return -1
		}
		return 1
	})
	d.marks = slices.Clone(d.marks[:mostDrawn])
	slices.SortFunc(d.marks, func(a, b mark) int { return cmp.Compare(a.number, b.number) })
}

// best returns the marks of the frontier, the cheapest first.
func (d *decision) best() (out []*mark) {
	for i := range d.marks {
		if d.marks[i].frontier {
			out = append(out, &d.marks[i])
		}
	}
	slices.SortFunc(out, func(a, b *mark) int { return cmp.Compare(a.x.Median, b.x.Median) })
	return out
}

// axis names the cost, and unit is its unit.
func (d *decision) axis() string {
	what := "busy cores"
	if d.cost == results.CostPower {
		what = "watts"
	}
	if d.side == results.Receiver {
		return what + " of the receiver"
	}
	return what + " of both hosts"
}

func (d *decision) unit() string {
	if d.cost == results.CostPower {
		return "W"
	}
	return "cores"
}
