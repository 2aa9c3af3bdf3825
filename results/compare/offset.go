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

// carried returns by how much the traffic of memory of two cells may be off, in bytes per byte: the
// most of all runs. 0: there were no turns, or it is not known.
func carried(p pairing, m Metric) (most float64) {
	if m.Name != "dram_bytes_per_byte" && m.Name != "mbm_bytes_per_byte" {
		return 0
	}
	for _, c := range []*Cell{p.a, p.b} {
		for _, r := range c.Runs {
			if v := r.SUT.CarriedPerByte; v != nil {
				most = max(most, *v)
			}
		}
	}
	return most
}

// off returns by how much each of the two figures may be off, in their unit, for what is not in the
// scatter of the runs: the clocks, or caches.
func (r *Row) off() float64 { return max(r.ClockUs, r.Carried) }

// withinOff takes a verdict back where the clocks, or caches, may be all of the difference. Each
// run has its own error of clocks: what is random of it is in the scatter of the runs, what the
// path makes of it the runs of one block have in common, and their difference does not have it. How
// large their ratio is, is known no better for that. What caches carry is alike in all runs, so the
// interval has none of it: its near end is beyond both.
func (r *Row) withinOff() {
	r.OffClocks, r.OffCaches = false, false
	if r.off() == 0 || r.Verdict == Unsure || r.ClockUs > 0 && r.Diff.Pairs > 0 || r.SumA == nil || r.SumB == nil {
		return
	}
	apart := math.Abs(r.SumB.Median - r.SumA.Median)
	if q := r.Diff.Ratio; r.Carried > 0 && q != nil && q.Lo != nil {
		apart = min(apart, r.SumA.Median*min(math.Abs(*q.Lo-1), math.Abs(*q.Hi-1)))
	}
	if apart <= 2*r.off() {
		r.Verdict, r.OffClocks, r.OffCaches = Unsure, r.ClockUs > 0, r.Carried > 0
	}
}

// offTells reports whether clocks and caches leave a margin as it is, to a tenth.
func (r *Row) offTells(margin float64) bool {
	return 2*r.off() <= .1*margin*min(r.SumA.Median, r.SumB.Median)
}

// offBounds computes the least and the most that a loss may truly be, as a share of a figure that
// clocks or caches may have made more or less. Times of different blocks each have an error of
// their own, and so has traffic: both widen their difference.
func (r *Row) offBounds(loss float64) (least, most float64) {
	if r.off() == 0 || r.SumA == nil {
		return loss, loss
	}
	a, off := r.SumA.Median, 0.
	if r.Diff.Pairs == 0 || r.Carried > 0 {
		off = 2 * r.off()
	}
	least, most = (loss*a-off)/(a+r.off()), math.Inf(1)
	if a > r.off() {
		most = (loss*a + off) / (a - r.off())
	}
	return least, most
}

// leastCarried is the share of traffic from on which what caches carry is worth a word.
const leastCarried = .01

// offText says by how much the two may be off, where that is worth a word: how well the clocks
// agree, or what caches may carry.
func (r *Row) offText() string {
	switch {
	case r.Carried > 0 && (r.SumA == nil || r.SumB == nil ||
		r.Carried < leastCarried*min(r.SumA.Median, r.SumB.Median)):
		return ""
	case r.Carried > 0:
		return fmt.Sprintf("caches may carry %.2g from turn to turn", r.Carried)
	case r.ClockUs >= 10:
		return fmt.Sprintf("the hosts' clocks agree to %.0f us", r.ClockUs)
	case r.ClockUs > 0:
		return fmt.Sprintf("the hosts' clocks agree to %.2g us", r.ClockUs)
	}
	return ""
}
