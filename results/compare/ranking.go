// SPDX-License-Identifier: MIT

package compare

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results/stat"
)

// Ranking orders cells by a figure and says which of them may be the best. Each is held against the
// one with the best median, by blocks and boots as comparisons are. That one cell leads all others
// is one statement, as likely to be false as the closest of its comparisons; that it is above some
// is corrected for all pairs of cells, because it was chosen for its figures.
type Ranking struct {
	Metric Metric
	First  *Cell
	Sum    *stat.Summary // of the first
	Rivals []Rival       // the others, the best median first
	// Short are cells with too few runs for any verdict, the best median first: they are no rivals
	// where another has enough.
	Short []Measured
	of    int // cells
}

// Measured is a cell with the figure of a ranking.
type Measured struct {
	Cell *Cell
	Sum  *stat.Summary
}

// Rival is a cell beside the first.
type Rival struct {
	Cell  *Cell
	Sum   *stat.Summary
	Diff  stat.Difference // its figures over those of the first
	Reach stat.Reach      // what so many runs could show
	// Standing is what else may be why it is below the first.
	Standing Standing
	// Instruments are those that measured the two, where they are not one.
	Instruments string
	// Caveats are what a verdict about the two holds for, and what it leaves out.
	Caveats []string
	// Spread is by how much runs vary; nil: there are too few to tell.
	Spread *stat.Spread
}

// Best ranks cells by a figure; nil where none has it. between is the spread
// between boots that was declared.
func Best(cells []*Cell, m Metric, between stat.Between) *Ranking {
	var all []Measured
	for _, c := range cells {
		if sum := stat.Summarize(values(c, m)); sum != nil {
			all = append(all, Measured{c, sum})
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b Measured) int {
		if m.HigherWins {
			a, b = b, a
		}
		return cmp.Compare(a.Sum.Median, b.Sum.Median)
	})
	c := &Ranking{Metric: m}
	enough := func(e Measured) bool { return e.Sum.N >= stat.MinRuns }
	if slices.ContainsFunc(all, enough) {
		all = slices.DeleteFunc(all, func(e Measured) bool {
			if !enough(e) {
				c.Short = append(c.Short, e)
			}
			return !enough(e)
		})
	}
	c.First, c.Sum = all[0].Cell, all[0].Sum
	ofFirst := runsOf(c.First, m)
	c.of = len(all)
	for _, e := range all[1:] {
		c.Rivals = append(c.Rivals, c.rival(e.Cell, e.Sum, ofFirst, between, len(all)-1))
	}
	c.correct(stat.All, 1)
	return c
}

// correct corrects the p of all rivals, as one of so many rankings that share what is left of the
// level.
func (c *Ranking) correct(rest stat.Rest, rankings int) {
	leads, pairs := Leads(c.of)
	closest := 0.0
	for i := range c.Rivals {
		if r := &c.Rivals[i]; r.Diff.Testable() {
			closest = max(closest, r.Diff.P)
		}
	}
	all := max(rest.Adjust(closest, float64(rankings)), min(1, closest*leads))
	for i := range c.Rivals {
		r := &c.Rivals[i]
		if !r.Diff.Testable() {
			continue
		}
		r.Diff.Adjusted = min(all, rest.Adjust(r.Diff.P, float64(rankings)*pairs))
		r.Reach = stat.ReachOf(&r.Diff, c.of-1)
		// The best case: what comes before is decided.
		r.Reach.LeastP = min(1, r.Diff.Least*max(leads, float64(rankings)))
	}
}

// usualRankings is how many rankings share what they have, by which a test is chosen: throughput,
// per core, and these with power.
const usualRankings = 4

// Leads returns by how much p is corrected for that one of so many cells leads, and for that one is
// above another.
func Leads(cells int) (all, one float64) {
	n := float64(cells)
	return max(1, n/2), max(1, n*(n-1)/2)
}

// Told returns the interval of a rival's ratio, which is told because the first is the first: of so
// many pairs one of each cell is.
func (c *Ranking) Told(r *Rival) *stat.Ratio {
	if q := r.Diff.Told(2 * stat.Alpha / float64(max(2, c.of))); q != nil {
		return q
	}
	return &stat.Ratio{Value: r.Diff.Ratio.Value}
}

// Figure returns the interval of the first's median, which is told because it is the highest of so
// many; nil: so few runs give none.
func (c *Ranking) Figure() (lo, hi *float64) {
	return stat.MedianOfUnits(runsOf(c.First, c.Metric), stat.Alpha/float64(c.of))
}

// Left returns what comparisons leave of the level; all of it where there are none.
func (r *Result) Left() stat.Rest {
	if r == nil {
		return stat.All
	}
	return r.rest
}

// Corrected returns the p of a comparison of two cells, whichever of them is A; 1: there is none.
func (r *Result) Corrected(metric string, a, b *Cell) float64 {
	if row := r.row(metric, a, b); row != nil {
		return row.Diff.Adjusted
	}
	return 1
}

// row finds the comparison of two cells, if it has been tested.
func (r *Result) row(metric string, a, b *Cell) *Row {
	if r == nil {
		return nil
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		x, y := row.cells.a, row.cells.b
		if row.Metric == metric && (x == a && y == b || x == b && y == a) && row.asks() {
			return row
		}
	}
	return nil
}

// Rank corrects a ranking, one of so many, with what the comparisons leave of the level. What is in
// both has one p: the smaller one.
func (r *Result) Rank(c *Ranking, rankings int) {
	c.correct(r.Left(), rankings)
	for i := range c.Rivals {
		x := &c.Rivals[i]
		if row := r.row(c.Metric.Name, c.First, x.Cell); row != nil && x.Diff.Testable() {
			least := min(x.Diff.Adjusted, row.Diff.Adjusted)
			x.Diff.Adjusted, row.Diff.Adjusted = least, least
			judge([]*Row{row}, row.of)
		}
	}
}

func (c *Ranking) rival(cell *Cell, sum *stat.Summary, ofFirst []stat.Run, between stat.Between, tests int) Rival {
	runs, p := runsOf(cell, c.Metric), pairing{a: c.First, b: cell}
	r := Rival{Cell: cell, Sum: sum, Diff: stat.Contrast(ofFirst, runs, between),
		Instruments: otherInstrument(p, c.Metric)}
	if r.Instruments != "" {
		r.Diff.Ratio = nil
	}
	leads, _ := Leads(tests + 1)
	r.Diff.Choose(stat.Alpha * forRankings / (usualRankings * leads))
	r.Reach = stat.ReachOf(&r.Diff, tests)
	r.Spread = stat.SpreadOf(ofFirst, runs)
	if r.Standing = cell.Standing(c.First); !c.Metric.capacity {
		r.Standing.Limit, r.Standing.AboveLimit = "", ""
	}
	e := c.Metric.effect(&c.First.Cell, &cell.Cell)
	r.Standing = r.Standing.Beside(r.Diff.Ratio, e)
	if words := r.Standing.Clocks.Words(r.Diff.Ratio, e); words != "" && r.Standing.OtherClock == "" {
		r.Caveats = append(r.Caveats, otherCPUs("", words))
	}
	if level := LevelText(&r.Diff); level != "" && r.Diff.Testable() {
		r.Caveats = append(r.Caveats, level)
	}
	if u := unconsumed(&cell.Cell, &c.First.Cell); u != "" {
		r.Caveats = append(r.Caveats, strings.NewReplacer("in A", "in "+cell.Cell.ID, "in B",
			"in "+c.First.Cell.ID).Replace(u))
	}
	if n, cost := c.Metric.powers(); c.Metric.ofReturn() && RatesOf(c.First, cell, n, cost).Explain(r.Diff.Ratio) {
		r.Caveats = append(r.Caveats, byRates)
	}
	r.Caveats = append(r.Caveats, means(c.First, cell, c.First.Cell.ID, cell.Cell.ID, c.Metric)...)
	if inert := inertBetween(c.First, cell); inert != nil {
		r.Caveats = append(r.Caveats, didNotAct(inert))
	}
	return r
}

// Below reports whether the runs of a rival are worse than those of the first beyond doubt,
// whatever the reason.
func (c *Ranking) Below(r *Rival) bool {
	worse := stat.Less
	if !c.Metric.HigherWins {
		worse = stat.Greater
	}
	return r.Diff.Sign() == worse
}

// Why names what may explain a rival's place besides the cell itself; "": nothing known.
func (r *Rival) Why() string {
	switch s := r.Standing; {
	case r.Instruments != "":
		return "other instrument: " + r.Instruments
	case s.Limit != "":
		return AtLimit(s.Limit)
	}
	return r.Standing.OtherCPUs()
}

// Candidates selects the cells of a set that can be the best at something: own runs that count,
// that ran at full speed, without a fault injected on purpose, and whose application gets the
// payload. Those at turns of another length than the plan's are beside the others.
func (s *Set) Candidates() (out []*Cell) {
	other := s.OtherTurns()
	for i := range s.Cells {
		c := &s.Cells[i]
		if len(c.Runs) > 0 && c.Source == "" && CanLead(&c.Cell) && !c.Runs[0].Calibrates() && !other(&c.Cell) {
			out = append(out, c)
		}
	}
	return out
}

// OtherTurns finds the cells of the set that have turns of another length than their plan's.
func (s *Set) OtherTurns() func(*plan.Cell) bool {
	cells := make([]plan.Cell, 0, len(s.Cells))
	for i := range s.Cells {
		if s.Cells[i].Source == "" {
			cells = append(cells, s.Cells[i].Cell)
		}
	}
	return plan.OtherTurns(cells)
}

// CanLead reports whether a cell can be the best at something, if it runs.
func CanLead(c *plan.Cell) bool {
	return c.Control == "" && !paced(c) && !(&Cell{Cell: *c}).Discards()
}

// Discards reports whether the cell's receiving application never gets the payload.
func (c *Cell) Discards() bool {
	m, err := modes.Find(stream.RX, c.Cell.RX)
	return err == nil && m.Has(stream.NoPayload)
}

// Paced reports whether the cell was to keep to a rate.
func (c *Cell) Paced() bool { return paced(&c.Cell) }

// Held returns what kept most runs from being faster, where that was neither the receiver nor a
// pace that was asked for: how fast the receiver could be was not measured.
func (c *Cell) Held() plan.LimitedBy { return c.HeldBy(plan.ByReceiver, plan.ByPace) }

// Ranks reports whether cells can be the best by a figure, whatever rates they delivered: it
// measures what they can do, not a price.
func (m Metric) Ranks() bool { return m.HigherWins && m.capacity }
