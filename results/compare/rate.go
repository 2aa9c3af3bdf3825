// SPDX-License-Identifier: MIT

package compare

import (
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
	// The rates are as near as paces are held, and the difference of the cost is no larger than
	// theirs: it may be that of delivering so much less.
	ByTheRates Work = "cannot tell (the rates differ as much)"
)

// ofCost reports whether the figure is a price of what was delivered, not of what could be.
func (m Metric) ofCost() bool { return !m.capacity && !m.ofTrips() }

// ofTrips reports whether the figure is one of round trips: what a round trip takes and costs is
// asked for as it is, and how many there are follows from it.
func (m Metric) ofTrips() bool {
	return strings.HasPrefix(m.Name, "rtt_") || strings.Contains(m.Name, "transaction")
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

// equalWork takes the verdict on a cost back where the two delivered different rates.
func (r *Row) equalWork(p pairing) {
	r.Work = work(p.a, p.b)
	if q := r.Diff.Ratio; r.Work == "" && r.Verdict != Unsure &&
		min(math.Abs(math.Log(*q.Lo)), math.Abs(math.Log(*q.Hi))) <= rateGap(p) {
		r.Work = ByTheRates
	}
	if r.Work != "" {
		r.Verdict = Unsure
	}
}

// rateGap computes how far apart the rates of two cells are, as a share. A cost moves by at most
// that much with them: fully where it goes with time, and not at all where it goes with bytes.
func rateGap(p pairing) float64 {
	ra, rb := p.a.rate(), p.b.rate()
	if ra == nil || rb == nil {
		return 0
	}
	return math.Abs(math.Log(*rb / *ra))
}

func work(a, b *Cell) Work {
	ra, rb := a.rate(), b.rate()
	if ra == nil || rb == nil || math.Abs(*rb / *ra - 1) <= sameRate {
		return ""
	}
	if a.atPace() && b.atPace() {
		return AtTwoPaces
	}
	return AtSaturation
}

// rate computes the median rate that the cell's runs delivered; nil where that is not known.
func (c *Cell) rate() *float64 {
	var v []float64
	for _, r := range c.Runs {
		if g := r.SUT.ThroughputGbps; g != nil && *g > 0 {
			v = append(v, *g)
		}
	}
	if s := stat.Summarize(v); s != nil {
		return &s.Median
	}
	return nil
}

// atPace reports whether the cell's runs were paced, and mostly kept to it.
func (c *Cell) atPace() bool {
	kept := 0
	for _, r := range c.Runs {
		if r.Cell.PaceBitsPS != 0 && !r.OffPace() {
			kept++
		}
	}
	return 2*kept > len(c.Runs)
}

// AtRates reports whether any comparison of costs is of unequal work.
func (r *Result) AtRates() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Work == AtSaturation || row.Work == AtTwoPaces })
}
