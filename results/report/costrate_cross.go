// SPDX-License-Identifier: MIT

package report

import (
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results/stat"
)

// crossing is where the costs of two modes cross.
type crossing struct {
	A string `json:"a"` // names of curves
	B string `json:"b"`
	// FromGbps and ToGbps are the rates that both were measured between.
	FromGbps float64 `json:"from_gbps"`
	ToGbps   float64 `json:"to_gbps"`
	// Verdict is "crosses", "none" (one is cheaper at all of these rates), or "open".
	Verdict string `json:"verdict"`
	// Cheaper is the curve that is, where there is no crossing.
	Cheaper string      `json:"cheaper,omitempty"`
	At      []crossedAt `json:"at,omitempty"`
	// OpenLo and OpenHi are the rates between which the two cannot be told apart.
	OpenLo   *float64 `json:"open_lo,omitempty"`
	OpenHi   *float64 `json:"open_hi,omitempty"`
	Units    int      `json:"units"` // that both have
	Sentence string   `json:"sentence"`

	a, b int // the curves
	of   stat.Crossing
	unit string
}

// crossedAt is a rate at which means cross.
type crossedAt struct {
	Gbps    float64 `json:"gbps"`
	Lo      float64 `json:"lo"`
	Hi      float64 `json:"hi"`
	Certain bool    `json:"certain"` // else there may be no crossing
	Above   string  `json:"above"`   // the curve that is cheaper beyond it
}

// Curves and pairs of these that are held against each other: the first ones.
const (
	mostCrossed   = 100
	mostCrossings = 40
)

// cross finds the crossings.
func (r *costRate) cross() {
	type pair struct{ a, b int }
	var pairs []pair
	var lines []int
	for i := range r.Curves[:min(len(r.Curves), mostCrossed)] {
		if c := &r.Curves[i]; !c.Bound && len(c.Points) > 1 {
			lines = append(lines, i)
		}
	}
	for n, i := range lines {
		for _, k := range lines[n+1:] {
			a, b := &r.Curves[i], &r.Curves[k]
			if len(pairs) == mostCrossings || !differIn(a.cell, b.cell, modeOf[r.Role]) {
				continue
			}
			if c, ok := stat.Cross(a.of, b.of, 1); ok && c.Finite() {
				pairs = append(pairs, pair{i, k})
			}
		}
	}
	for _, p := range pairs {
		a, b := &r.Curves[p.a], &r.Curves[p.b]
		c, _ := stat.Cross(a.of, b.of, len(pairs))
		if !c.Finite() {
			continue
		}
		x := crossingOf(a.Name, b.Name, c, r.Unit)
		x.a, x.b = p.a, p.b
		r.Crossings = append(r.Crossings, x)
	}
}

// differIn reports whether two cells differ in a mode and else in no option that concerns both.
func differIn(a, b *plan.Cell, mode string) bool {
	differ := false
	for i := range plan.Options {
		o := &plan.Options[i]
		switch same := o.Raw(a) == o.Raw(b); {
		case o.Name == "pace" || same:
		case o.Name == mode:
			differ = true
		case o.MayConcern(a) && o.MayConcern(b):
			return false
		}
	}
	return differ
}

func crossingOf(a, b string, c stat.Crossing, unit string) crossing {
	out := crossing{A: a, B: b, FromGbps: c.From, ToGbps: c.To, Units: c.Units, Verdict: "open", of: c, unit: unit}
	if c.Open { // beyond the mean of a capacity there are no curves
		out.OpenLo, out.OpenHi = new(max(c.From, c.OpenLo)), new(min(c.To, c.OpenHi))
	}
	for _, at := range c.At {
		if at.Certain {
			out.Verdict = "crosses"
		}
		out.At = append(out.At, crossedAt{at.X, at.Lo, at.Hi, at.Certain, cheaper(at.After, a, b)})
	}
	if c.Side != stat.Unknown {
		out.Verdict, out.Cheaper, out.OpenLo, out.OpenHi = "none", cheaper(c.Side, a, b), nil, nil
	}
	out.Sentence = out.say(a, b)
	return out
}

// cheaper chooses the curve that is, by the sign of b - a.
func cheaper(s stat.Sign, a, b string) string {
	if s == stat.Less {
		return b
	}
	return a
}

// say puts the crossing into a sentence, with the curves called so.
func (x *crossing) say(a, b string) string {
	c, who := x.of, a+" and "+b+": "
	between := fmt.Sprintf("%s to %s Gbit/s", digits3(c.From), digits3(c.To))
	switch {
	case !c.Known:
		text := "no crossing by the means of " + between
		if len(c.At) > 0 {
			text = fmt.Sprintf("by the means their costs cross at %s Gbit/s", digits3(c.At[0].X))
		}
		return fmt.Sprintf("%s%s; the %s that both have are too few for an interval, which needs %d", who, text,
			plural(c.Units, x.unit), stat.MinRuns)
	case x.Verdict == "crosses":
		var all []string
		for _, at := range c.At {
			if at.Certain {
				all = append(all, fmt.Sprintf("%s Gbit/s [%s..%s], below which %s is cheaper, and above which %s is",
					digits3(at.X), digits3(at.Lo), digits3(at.Hi), cheaper(-at.After, a, b), cheaper(at.After, a, b)))
			}
		}
		return who + "their costs cross at " + strings.Join(all, ", and at ")
	case c.Side != stat.Unknown:
		return fmt.Sprintf("%sno crossing in what was measured, %s: %s is cheaper at each of these rates", who, between,
			cheaper(c.Side, a, b))
	}
	text := who + "whether their costs cross is open"
	if len(c.At) > 0 {
		text += fmt.Sprintf(" (the means do, at %s Gbit/s)", digits3(c.At[0].X))
	}
	if *x.OpenLo <= c.From && *x.OpenHi >= c.To {
		return text + "; they cannot be told apart at any rate that was measured, " + between
	}
	text += fmt.Sprintf("; from %s to %s Gbit/s neither is shown to be cheaper", digits3(*x.OpenLo), digits3(*x.OpenHi))
	switch {
	case c.First != stat.Unknown && c.First == c.Last:
		text += fmt.Sprintf("; below and above that %s is cheaper", cheaper(c.First, a, b))
	case c.First != stat.Unknown:
		text += fmt.Sprintf("; below that %s is cheaper", cheaper(c.First, a, b))
	case c.Last != stat.Unknown:
		text += fmt.Sprintf("; above that %s is cheaper", cheaper(c.Last, a, b))
	}
	return text
}
