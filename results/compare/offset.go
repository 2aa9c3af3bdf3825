// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/results"
)

// ofClocks reports whether the metric is a time that begins at one host and ends at the other: it
// contains the error of their clocks.
func (m Metric) ofClocks() bool { return strings.HasPrefix(m.Name, "delivery_") }

// clockUs returns by how much such times of two cells may be off, in us: the largest of all runs.
// 0: all have one clock, or it is not known.
func clockUs(p pairing, m Metric) (most float64) {
	if !m.ofClocks() {
		return 0
	}
	for _, c := range []*Cell{p.a, p.b} {
		for _, r := range c.Runs {
			most = max(most, clockUsOf(r))
		}
	}
	return most
}

// clockUsOf returns by how much a run's times may be off. For older records it adds up how well the
// controller knew the clock of each end, which is all that they have.
func clockUsOf(r *results.Record) (us float64) {
	switch d := r.SUT.Delivery; {
	case d == nil:
		return 0
	case d.ClockUs != nil:
		return *d.ClockUs
	case slices.Contains(r.Flags, results.FlagSharedMachine):
		return 0
	}
	for _, h := range []*results.Host{&r.SUT, &r.TG} {
		for _, m := range h.Metrics {
			if m.Name == "clock_offset_uncertainty_ns" {
				us += m.Value / 1e3
			}
		}
	}
	return us
}

// withinClocks takes a verdict back where the clocks may be all of the difference. Each run has its
// own error: what is random of it is in the scatter of the runs, what the path makes of it the runs
// of one block have in common, and their difference does not have it. How large their ratio is, is
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

// clocksTell reports whether the clocks leave a margin as it is, to a tenth.
func (r *Row) clocksTell(margin float64) bool {
	return 2*r.ClockUs <= .1*margin*min(r.SumA.Median, r.SumB.Median)
}

// clockBounds computes the least and the most that a loss may truly be, as a share of a time that
// the clocks may have made longer or shorter. Times of different blocks each have an error of their
// own, so both widen their difference.
func (r *Row) clockBounds(loss float64) (least, most float64) {
	if r.ClockUs == 0 || r.SumA == nil {
		return loss, loss
	}
	a, off := r.SumA.Median, 0.
	if r.Diff.Pairs == 0 {
		off = 2 * r.ClockUs
	}
	least, most = (loss*a-off)/(a+r.ClockUs), math.Inf(1)
	if a > r.ClockUs {
		most = (loss*a + off) / (a - r.ClockUs)
	}
	return least, most
}

// clockText formats how well the clocks agree.
func (r *Row) clockText() string {
	if r.ClockUs >= 10 {
		return fmt.Sprintf("the hosts' clocks agree to %.0f us", r.ClockUs)
	}
	return fmt.Sprintf("the hosts' clocks agree to %.2g us", r.ClockUs)
}
