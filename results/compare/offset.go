// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"math"
	"strings"
)

// ofClocks tells a time that begins at one host and ends at the other: what their clocks are wrong
// by is in it.
func (m Metric) ofClocks() bool { return strings.HasPrefix(m.Name, "delivery_") }

// clockUs is how far such times of two cells may be off, us: of the run with the most. 0: all have
// one clock, or it is not known.
func clockUs(p pairing, m Metric) (most float64) {
	if !m.ofClocks() {
		return 0
	}
	for _, c := range []*Cell{p.a, p.b} {
		for _, r := range c.Runs {
			if d := r.SUT.Delivery; d != nil && d.ClockUs != nil {
				most = max(most, *d.ClockUs)
			}
		}
	}
	return most
}

// withinClocks takes a verdict back where the clocks may be all of the difference. Runs of one
// block have the same error, which their difference does not have; how large their ratio is, is
// known no better for that.
func (r *Row) withinClocks() {
	r.OffClocks = false
	if r.ClockUs == 0 || r.Verdict == Unsure || r.Diff.Pairs > 0 || r.SumA == nil || r.SumB == nil {
		return
	}
	if math.Abs(r.SumB.Median-r.SumA.Median) <= 2*r.ClockUs {
		r.Verdict, r.OffClocks = Unsure, true
	}
}

// clocksTell tells whether the clocks leave a margin as it is, to a tenth.
func (r *Row) clocksTell(margin float64) bool {
	return 2*r.ClockUs <= .1*margin*min(r.SumA.Median, r.SumB.Median)
}

// clockBounds are the least and the most that a loss may be in truth, as a share of a time that the
// clocks may have made longer or shorter.
func (r *Row) clockBounds(loss float64) (least, most float64) {
	if r.ClockUs == 0 || r.SumA == nil {
		return loss, loss
	}
	a := r.SumA.Median
	least, most = loss*a/(a+r.ClockUs), math.Inf(1)
	if a > r.ClockUs {
		most = loss * a / (a - r.ClockUs)
	}
	return least, most
}

// clockText says how well the clocks agree.
func (r *Row) clockText() string {
	if r.ClockUs >= 10 {
		return fmt.Sprintf("the hosts' clocks agree to %.0f us", r.ClockUs)
	}
	return fmt.Sprintf("the hosts' clocks agree to %.2g us", r.ClockUs)
}
