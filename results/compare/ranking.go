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
// one with the best median, by blocks and boots as comparisons are, corrected for their number:
// with 95 % the best in truth is the first, or one that is not beyond doubt below it, of those with
// enough runs.
type Ranking struct {
	Metric Metric
	First  *Cell
	Sum    *stat.Summary // of the first
	Rivals []Rival       // the others, the best median first
	// Short are cells with too few runs for any verdict, the best median first: they are no rivals
	// where another has enough.
	Short []Measured
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
func Best(cells []*Cell, m Metric, between float64) *Ranking {
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
	for _, e := range all[1:] {
		c.Rivals = append(c.Rivals, c.rival(e.Cell, e.Sum, ofFirst, between, len(all)-1))
	}
	return c
}

func (c *Ranking) rival(cell *Cell, sum *stat.Summary, ofFirst []stat.Run, between float64, tests int) Rival {
	runs, p := runsOf(cell, c.Metric), pairing{a: c.First, b: cell}
	r := Rival{Cell: cell, Sum: sum, Diff: stat.Contrast(ofFirst, runs, between),
		Instruments: otherInstrument(p, c.Metric)}
	if r.Instruments != "" {
		r.Diff.Ratio = nil
	}
	r.Diff.Adjusted = min(1, r.Diff.P*float64(tests))
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
// payload.
func (s *Set) Candidates() (out []*Cell) {
	for i := range s.Cells {
		c := &s.Cells[i]
		if len(c.Runs) > 0 && c.Source == "" && c.Cell.Control == "" && !paced(&c.Cell) && !c.Discards() &&
			!c.Runs[0].Calibrates() {
			out = append(out, c)
		}
	}
	return out
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
