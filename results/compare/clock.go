// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results/stat"
)

// ClockEffect is how a figure may go with the clock of the CPUs of each end: with its power from Lo
// to Hi, 0 among them. What the kernel and the modes do takes as many cycles at any clock, or,
// where memory or the link is slow, fewer at a lower one: so a rate goes with the clock to the
// power of 0 to 1. Power grows with clock and voltage squared, and so with no more than its cube;
// at a pace, where a higher clock is the sooner at rest, it may fall as much as the clock grows.
type ClockEffect struct {
	sut, tg span
	// joint: the two ends do not add up. The slower one is that which counts, or the figure is a
	// sum over both.
	joint bool
}

type span struct{ lo, hi float64 }

// What a clock does, by the figure: to those of an end itself, and, by the rate that comes of it,
// to those of the other end.
var (
	ofRate  = span{0, 1}
	ofTime  = span{-1, 0}
	ofPower = span{-1, 3}
	ofPeer  = span{-1, 1}
	// A time that payload waits for a CPU which is nearly busy knows no bound, where the clocks are
	// far apart. Where they are as near as the gate allows, a wait is taken for a time: no two
	// medians are the same, and else nothing could be told of any wait.
	ofWait = span{math.Inf(-1), 0}
)

// ReturnEffect returns that of rate^n / cost^m of both ends; power: the cost is watts.
func ReturnEffect(n, m float64, power bool) ClockEffect {
	s := span{min(0, -3*m), max(n, m, 0)}
	if !power {
		s.lo = 0
	}
	return ClockEffect{s, s, true}
}

// effect returns how the figure of two cells goes with clocks.
func (m Metric) effect(a, b *plan.Cell) (e ClockEffect) {
	both := func(s span) ClockEffect { return ClockEffect{s, s, true} }
	power := m.measured != nil
	switch n, cost := m.powers(); {
	case m.Name == "cycles_per_byte", m.Name == "tg_cycles_per_byte", m.counts():
		return e
	case m.Name == "ipc": // a memory that is as fast as ever takes more cycles of a faster CPU
		return ClockEffect{ofTime, ofPeer, false}
	case strings.HasPrefix(m.Name, "rtt_") && a.RRRate == 0 && b.RRRate == 0: // each waits for the one before
		return both(ofTime)
	case strings.HasPrefix(m.Name, "rtt_"), strings.HasPrefix(m.Name, "delivery_"):
		return both(ofWait)
	case cost == 0:
		return both(ofRate)
	case m.ofReturn():
		if e = ReturnEffect(n, cost, power); strings.HasSuffix(m.Name, "_total") {
			return e
		}
		e.tg, e.joint = span{0, n}, false
		return e
	case power:
		e = ClockEffect{ofPower, ofPeer, false}
	default:
		e = ClockEffect{ofTime, ofPeer, false}
	}
	switch {
	case strings.HasSuffix(m.Name, "_total"):
		return both(e.sut)
	case strings.HasPrefix(m.Name, "tg_"):
		e.sut, e.tg = e.tg, e.sut
	}
	return e
}

// counts reports whether a figure is of what was done, whatever the time: instructions, and what
// memory moved for them.
func (m Metric) counts() bool {
	return slices.Contains([]string{"instructions_per_kb", "llc_misses_per_kb", "dram_bytes_per_byte",
		"mbm_bytes_per_byte"}, m.Name)
}

// clocks is how fast the CPUs of two cells ran, as far as that is known and anybody asks.
type clocks struct {
	text string     // of the ends where they are further apart than both cells' gates allow, or at all
	far  [2]bool    // than they allow, of each end
	log  [2]float64 // of B's over A's, of each end
}

// apart reports whether the clocks of an end are further apart than both cells' gates allow.
func (c *clocks) apart() bool { return c.far[0] || c.far[1] }

// clocksOf compares those of two cells, unless they differ in what sets clocks: then that is what
// they are about.
func clocksOf(a, b *Cell) (c clocks) {
	ofClock := func(name string) bool { return slices.Contains(setsClock, name) }
	if a.frequency == nil || b.frequency == nil || slices.ContainsFunc(differing(&a.Cell, &b.Cell), ofClock) {
		return c
	}
	var words, farWords []string
	for i, role := range ends.Roles {
		x, y := a.clock(role), b.clock(role)
		if x == nil || y == nil || *x <= 0 || *y <= 0 || *x == *y {
			continue
		}
		c.log[i] = math.Log(*y / *x)
		text := fmt.Sprintf("%s at %.0f and %.0f MHz", role.Label(), *x, *y)
		words = append(words, text)
		if hi, lo := max(*x, *y), min(*x, *y); (hi-lo)/hi > max(*a.frequency, *b.frequency) {
			farWords, c.far[i] = append(farWords, text), true
		}
	}
	if c.apart() {
		words = farWords
	}
	c.text = strings.Join(words, ", ")
	return c
}

// Most computes the least and the greatest ratio that the clocks alone may make of equal cells, as
// logarithms.
func (c clocks) Most(e ClockEffect) (lo, hi float64) {
	for i, s := range []span{e.sut, e.tg} {
		if c.log[i] == 0 {
			continue
		}
		if s == ofWait && !c.far[i] {
			s = ofTime
		}
		x, y := s.lo*c.log[i], s.hi*c.log[i]
		x, y = min(x, y, 0), max(x, y, 0)
		if e.joint {
			lo, hi = min(lo, x), max(hi, y)
		} else {
			lo, hi = lo+x, hi+y
		}
	}
	return lo, hi
}

// Explain reports whether the clocks alone may be why a ratio is not 1: its interval is not wholly
// beyond what they can do.
func (c clocks) Explain(q *stat.Ratio, e ClockEffect) bool {
	lo, hi := c.Most(e)
	return (lo < 0 || hi > 0) && q != nil && q.Lo != nil && math.Log(*q.Lo) <= hi && math.Log(*q.Hi) >= lo
}

// Words say how fast the CPUs of two cells ran, and what of their ratio that may be; "": as fast,
// as far as anybody asks, or it is not known.
func (c clocks) Words(q *stat.Ratio, e ClockEffect) string {
	lo, hi := c.Most(e)
	differ := q != nil && q.Lo != nil && (*q.Lo > 1 || *q.Hi < 1)
	switch {
	case differ && c.Explain(q, e):
		return c.text + ", which may explain it"
	case !c.apart() || e == ClockEffect{}:
		return ""
	case !differ:
		return c.text
	}
	most := math.Expm1(hi)
	if *q.Hi < 1 {
		most = -math.Expm1(lo)
	}
	if most < 5e-4 {
		return c.text + ", which explains none of it"
	}
	return fmt.Sprintf("%s, which explains at most %.1f %%", c.text, 100*most)
}

// clocks holds a row to the clocks of its two: a verdict that these may explain is none, and else
// it is said how fast they ran.
func (r *Row) clocks(m Metric) {
	c, e := clocksOf(r.cells.a, r.cells.b), m.effect(&r.A, &r.B)
	r.OtherClock = c.Words(r.Diff.Ratio, e)
	if r.ByClocks = r.Verdict != Unsure && c.Explain(r.Diff.Ratio, e); r.ByClocks {
		r.Verdict, r.AtLimit = Unsure, ""
	}
}

// clockLimit returns how far apart the gates of a plan let frequencies be; without a plan, the
// default limit.
func clockLimit(planned *plan.Origin) *float64 {
	if planned == nil {
		return plan.DefaultGates().Frequency
	}
	return planned.Gates.Frequency
}

// clock computes the median frequency of the flow's CPUs at one end, by APERF and MPERF alone: what
// scaling_cur_freq reads at one time, of other CPUs among them, is no ground to take a verdict
// back.
func (c *Cell) clock(role ends.Role) *float64 {
	var v []float64
	for _, r := range c.Runs {
		if mhz := r.Host(role).FlowMHz; mhz != nil {
			v = append(v, *mhz)
		}
	}
	if s := stat.Summarize(v); s != nil {
		return &s.Median
	}
	return nil
}
