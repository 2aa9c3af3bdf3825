// SPDX-License-Identifier: MIT

package race

import (
	"cmp"
	"math"
	"slices"

	"github.com/zcbench/zcbench/results/stat"
)

// Ratio is a ratio with its interval.
type Ratio struct {
	Value float64 `json:"value"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
}

func (c contrast) ratio(alpha float64) Ratio {
	lo, hi := c.interval(alpha)
	return Ratio{math.Exp(c.value), math.Exp(lo), math.Exp(hi)}
}

// Place is how an arm stands in the race.
type Place struct {
	Arm int `json:"arm"`
	// Ratio is the arm over the leader. The intervals of all arms hold together with 95 %. Nil: no
	// run of it counted, or too few to tell.
	Ratio  *Ratio `json:"ratio,omitempty"`
	Starts int    `json:"starts"` // in which it was read
	// Left is the block after which it left the race, from 1, and Why the reason; 0: it did not.
	Left int    `json:"left,omitempty"`
	Why  string `json:"why,omitempty"`
	Out  bool   `json:"out,omitempty"` // it could not run, or was invalid
}

// Standing ranks all arms but those that wait: the leader, those that are in the race with it, then
// the others, the last to leave first, and those that could not be in it.
func (r *Race) Standing() (places []Place) {
	leader, ok := r.leading()
	alpha := stat.Alpha / float64(max(1, len(r.measured())-1))
	for arm, l := range r.left {
		if r.waits[arm] {
			continue
		}
		p := Place{Arm: arm, Left: l.block, Why: l.why, Out: l.out}
		for _, o := range r.obs {
			if o.arm == arm {
				p.Starts++
			}
		}
		if ok && p.Starts > 0 {
			p.Ratio = &Ratio{1, 1, 1}
			if arm != leader {
				p.Ratio = nil
				if c := r.against(arm, leader); c.told() {
					p.Ratio = new(c.ratio(alpha))
				}
			}
		}
		places = append(places, p)
	}
	rank := func(p Place) (class, left int, behind float64) {
		switch {
		case p.Out:
			class = 3
		case p.Left > 0:
			class = 2
		case p.Arm != leader:
			class = 1
		}
		if p.Ratio != nil {
			behind = -p.Ratio.Value
		}
		return class, -p.Left, behind
	}
	slices.SortStableFunc(places, func(a, b Place) int {
		ca, la, ra := rank(a)
		cb, lb, rb := rank(b)
		return cmp.Or(ca-cb, la-lb, cmp.Compare(ra, rb))
	})
	return places
}

// leading returns who leads; ok is false where nothing was read of those that can be in the race.
func (r *Race) leading() (arm int, ok bool) {
	var arms []int
	for _, a := range r.measured() {
		if r.in[a] {
			arms = append(arms, a)
		}
	}
	if len(arms) == 0 {
		return 0, false
	}
	return r.leader(arms), true
}

// measured lists the arms that were read and can be in the race.
func (r *Race) measured() (arms []int) {
	has := make([]bool, len(r.in))
	for _, o := range r.obs {
		has[o.arm] = true
	}
	for a, h := range has {
		if h && !r.left[a].out {
			arms = append(arms, a)
		}
	}
	return arms
}

// Leaders is what the search ended with.
type Leaders struct {
	Winner int `json:"winner"`
	// Ties are the arms that the search cannot tell from the winner, the nearest first; some may
	// have left the race because there was no time for them.
	Ties []int `json:"ties"`
	// Resolution is how much better than the winner any arm that ran may be, as far as the search
	// can tell: .013 is 1.3 %. Nil: there were too few starts to tell.
	Resolution *float64 `json:"resolution"`
	// Gain is the winner over the default as the search has it: too large, and without an interval
	// that could be believed; see [Optimism]. 0: the default could not run.
	Gain float64 `json:"gain,omitempty"`
}

// Leaders returns the winner and those that tie with it; ok is false if no arm could run.
func (r *Race) Leaders() (l Leaders, ok bool) {
	if l.Winner, ok = r.leading(); !ok {
		return l, false
	}
	l.Resolution = new(0.)
	for _, p := range r.Standing() {
		if p.Arm == l.Winner || p.Out || p.Starts == 0 {
			continue
		}
		if p.Ratio == nil || p.Ratio.Hi >= 1 {
			l.Ties = append(l.Ties, p.Arm)
		}
		if p.Ratio == nil {
			l.Resolution = nil
		} else if l.Resolution != nil {
			l.Resolution = new(max(*l.Resolution, p.Ratio.Hi-1))
		}
	}
	if d := r.field.Default; slices.Contains(r.measured(), d) {
		l.Gain = math.Exp(r.fit().arm[l.Winner] - r.fit().arm[d])
	}
	return l, true
}

// Optimism computes by how much the search told too much: its gain over the one that runs in other
// starts confirmed. The search picked the winner for its figures, so this is above 1 on average.
// The interval is that of the confirmation; ok is false if that has none.
func Optimism(gain float64, confirmed stat.Paired) (o Ratio, ok bool) {
	if !confirmed.HasInterval() || !(confirmed.Lo > 0) || !(gain > 0) {
		return o, false
	}
	return Ratio{gain / confirmed.Estimate, gain / confirmed.Hi, gain / confirmed.Lo}, true
}
