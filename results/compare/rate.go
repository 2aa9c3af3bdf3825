// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// sameRate is how far apart the delivered rates of two cells may be for their costs to be
// those of equal work: two cells that each hold a pace to 1 % are never further apart.
const sameRate = 2 * plan.PaceTolerance

// Work says that two cells did not do equal work; "": they did, or it is not known.
type Work string

// What unequal work is due to. Costs of it have no verdict: a mode that is paced to half its
// rate pays another price per byte for the same path.
const (
	AtSaturation Work = "at saturation"   // one of them at least was as fast as it could be
	AtTwoPaces   Work = "at another pace" // both kept to one, and not to the same
	// Of two at one pace the first or the second alone missed it: what it would cost there is not
	// known (it is censored), and that it cannot deliver so much is.
	AMissed Work = "holds the pace that the other misses"
	BMissed Work = "misses the pace that the other holds"
	// The rates are as near as paces are held, and the difference of the cost is no larger than
	// theirs: it may be that of delivering so much less.
	ByTheRates Work = "cannot tell (the rates differ as much)"
)

// Unequal reports whether the two delivered different rates.
func (w Work) Unequal() bool { return w != "" && w != ByTheRates }

// Missed reports whether one of two at the same pace missed it, which the other holds.
func (w Work) Missed() bool { return w == AMissed || w == BMissed }

// ofCost reports whether the figure is a price of what was delivered, not of what could be.
func (m Metric) ofCost() bool { n, cost := m.powers(); return cost > 0 && n <= cost }

// powers returns how the figure goes with the rate that was delivered and with what that took: a
// price has the rate no oftener than the cost, a return has it oftener. cost 0: what was delivered,
// and how long a round trip took, are no matter of cost.
func (m Metric) powers() (rate, cost float64) {
	switch {
	case m.ofReturn():
		return 2, 1
	case m.capacity, m.Name == "transactions_per_s", strings.HasPrefix(m.Name, "rtt_"):
		return 1, 0
	}
	return 1, 1 // what costs no bytes, as watts, moves no further
}

// roundTrip reads a figure from the round-trip times, which the end that asks has.
func roundTrip(of func(*results.Times) *float64) func(*results.Record) *float64 {
	return func(r *results.Record) *float64 {
		if t := r.TG.RoundTrip; t != nil {
			return of(t)
		}
		return nil
	}
}

// deliveryTime reads a figure from the delivery times of the payload: the one end point that all
// modes have. Stages of the latency probe mean different things in different modes, and are no
// figures to compare.
func deliveryTime(of func(*results.Delivery) *float64) func(*results.Record) *float64 {
	return func(r *results.Record) *float64 {
		if d := r.SUT.Delivery; d != nil {
			return of(d)
		}
		return nil
	}
}

// Rates is what the rates that two cells delivered leave of a comparison of rate^n / cost^m.
type Rates struct {
	// Work is why a price has no verdict: the two did not do equal work.
	Work Work
	// Most is how far the rates alone may move the ratio of the two, as a logarithm: fully where a
	// cost goes with time, and less where it goes with bytes.
	Most float64
}

// RatesOf applies the one rule for all that is said of what work cost: of prices, of returns and of
// what makes the difference ("Equal work" in docs/comparable.md).
func RatesOf(a, b *Cell, n, m float64) (r Rates) {
	ra, rb := a.rate(), b.rate()
	if m == 0 || ra == nil || rb == nil {
		return r
	}
	r.Most = math.Abs(math.Log(*rb / *ra)) * max(math.Abs(n), math.Abs(n-m))
	switch {
	case n > m || math.Abs(*rb / *ra - 1) <= sameRate:
	case a.atPace() && b.atPace():
		r.Work = AtTwoPaces
	case a.misses(b):
		r.Work = AMissed
	case b.misses(a):
		r.Work = BMissed
	default:
		r.Work = AtSaturation
	}
	return r
}

// RatesAmong does the same for the slowest and the fastest of some cells.
func RatesAmong(cells []*Cell, n, m float64) (r Rates) {
	var slow, fast *Cell
	var least, most float64
	for _, c := range cells {
		g := c.rate()
		if g == nil {
			continue
		}
		if slow == nil || *g < least {
			slow, least = c, *g
		}
		if fast == nil || *g > most {
			fast, most = c, *g
		}
	}
	if slow == nil {
		return r
	}
	return RatesOf(slow, fast, n, m)
}

// Explain reports whether the rates alone may be why a ratio is not 1.
func (r Rates) Explain(q *stat.Ratio) bool {
	return q != nil && q.Lo != nil && min(math.Abs(math.Log(*q.Lo)), math.Abs(math.Log(*q.Hi))) <= r.Most
}

// rates holds a row to the rates of its two: a price that these may explain has no verdict, and of
// a return it is said.
func (r *Row) rates(m Metric) {
	n, cost := m.powers()
	of := RatesOf(r.cells.a, r.cells.b, n, cost)
	explained := r.Verdict != Unsure && of.Explain(r.Diff.Ratio)
	r.Work, r.ByRates = of.Work, explained && m.ofReturn()
	if r.Work == "" && explained && m.ofCost() {
		r.Work = ByTheRates
	}
	if r.Work != "" {
		r.Verdict = Unsure
	}
}

// byRates is what is said of a return that is no larger than the rates make it.
const byRates = "the rates alone may explain it"

// rate computes the median rate that the cell's runs delivered, of bytes or round trips; nil where
// that is not known.
func (c *Cell) rate() *float64 {
	v := make([]float64, 0, len(c.Runs))
	for _, r := range c.Runs {
		g := r.SUT.ThroughputGbps
		if trips := r.TG.TransactionsPerS(); trips != nil {
			g = trips
		}
		if g != nil && *g > 0 {
			v = append(v, *g)
		}
	}
	if len(v) == 0 {
		return nil
	}
	return new(stat.Median(v))
}

// atPace reports whether the cell's runs were paced, and mostly kept to it.
func (c *Cell) atPace() bool {
	kept := 0
	for _, r := range c.Runs {
		if r.Cell.PaceRate() != 0 && !r.OffPace() || r.Cell.RRRate > 0 {
			kept++
		}
	}
	return 2*kept > len(c.Runs)
}

// misses reports whether the cell was slower than its pace, and the other, at the same one, not.
func (c *Cell) misses(other *Cell) bool {
	pace, rate, theirs := c.Pace(), c.rate(), other.rate()
	if pace == 0 || pace != other.Pace() || rate == nil || theirs == nil {
		return false
	}
	held := float64(pace) / 1e9 * (1 - plan.PaceTolerance)
	return *rate < held && *theirs >= held
}

// Pace returns to how many bit/s all of the cell's runs were paced; 0: they were not, or not alike.
func (c *Cell) Pace() int {
	for _, r := range c.Runs {
		if r.Cell.PaceRate() != c.Runs[0].Cell.PaceRate() || r.Cell.LossFree {
			return 0
		}
	}
	if len(c.Runs) == 0 {
		return 0
	}
	return c.Runs[0].Cell.PaceRate()
}

// MissedText says which of the two missed the pace that the other holds, and by how much; "": none
// did.
func (r *Row) MissedText() string {
	missed, held := r.cells.b, r.cells.a
	switch r.Work {
	case AMissed:
		missed, held = held, missed
	case BMissed:
	default:
		return ""
	}
	return fmt.Sprintf("%s missed its pace (%.4g of %.4g Gbit/s), which %s holds", missed.Cell.ID, *missed.rate(),
		float64(missed.Pace())/1e9, held.Cell.ID)
}

// missed says of each two at one pace that one of them missed it.
func (r *Result) missed() (lines []string) {
	for i := range r.Rows {
		if text := r.Rows[i].MissedText(); text != "" && !slices.Contains(lines, text+".") {
			lines = append(lines, text+".")
		}
	}
	return lines
}

// AtRates reports whether any comparison of costs is of unequal work, which one pace would make
// equal.
func (r *Result) AtRates() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Work.Unequal() && !row.Work.Missed() })
}
