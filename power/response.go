// SPDX-License-Identifier: MIT

package power

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// slowest is how much of the load's step may be on its way still in the second half of a guard for
// the window after it to be measured.
const slowest = .3

// fewFresh is below how many new readings a window whose meter repeats itself shows no scatter.
const fewFresh = 4

// edge is what the readings show around the beginning of one window: the share of the step to it
// that they had still to go in the second half of the guard before, and its standard uncertainty;
// least is what that is if the readings' slope is the instrument's.
type edge struct{ left, u, least float64 }

// most returns the largest share that the readings allow.
func (e edge) most() float64 { return math.Abs(e.left) + 2*e.u }

// clear reports whether the readings were on their way. It takes more than one edge to say so, and
// a step that is clear of their scatter.
func (e edge) clear() bool { return e.least < .2 && e.left-e.least > slowest }

// response is how well the readings follow the load's steps.
type response struct {
	load, idle float64 // limits of the share of the step that the window's mean may lack, or still have
	why        string  // what is not known of it, or what is wrong
	slow       bool    // the window's mean is none
	noNet      string  // why there is nothing to be told of the power above idle, apart from that
	step       float64 // the net power that its record shows, watts
}

// known reports whether the limits are any.
func (r response) known() bool { return r.why == "" }

// response learns from the steps at the load's beginning and end how the instrument follows them.
// What it declares counts, unless the record shows that it is slower. means are those of the idle
// windows, in their order.
func (t Trace) response(at Times, load mean, windows []Window, means []mean) response {
	if t.counts() {
		return response{} // a counter has no memory; edges has its period
	}
	declared := t.Info.Averages
	r := t.learn(at, load, windows, means)
	if t.Slow != "" {
		r.why, r.slow = t.Slow, true
	}
	if r.slow {
		return r
	}
	of := averaged(declared, at.GuardNs, at.Load)
	ofIdle := 0.
	for _, w := range windows {
		ofIdle = max(ofIdle, averaged(declared, at.GuardNs, w))
	}
	if of > slowest/2 || ofIdle > slowest/2 {
		return response{slow: true, why: fmt.Sprintf("it averages over %v, and the guard is %v: --power-guard %[1]v",
			declared, time.Duration(at.GuardNs))}
	}
	if declared > 0 && !r.known() {
		r.load, r.idle, r.why = 0, 0, ""
	}
	r.noNet = cmp.Or(r.why, r.noNet)
	// Of what the windows show, the same share is more of the true step.
	r.load, r.idle = max(r.load, of/(1-of-ofIdle)), max(r.idle, ofIdle/(1-of-ofIdle))
	return r
}

// counts reports whether the source is one of counters.
func (t Trace) counts() bool {
	for _, c := range t.Info.Channels {
		if !c.Part && c.Kind == power {
			return false
		}
	}
	return true
}

// averaged returns which share of a step the mean of a window lacks that begins a guard later,
// where each reading is the mean of so long.
func averaged(over time.Duration, guardNs int64, w Window) float64 {
	late, length := float64(int64(over)-guardNs), float64(w.ToNs-w.FromNs)
	switch {
	case late <= 0 || length <= 0:
		return 0
	case late <= length:
		return late * late / 2 / float64(over) / length
	}
	return (late - length/2) / float64(over)
}

// learn reads the response out of the record.
func (t Trace) learn(at Times, load mean, windows []Window, means []mean) (r response) {
	unknown := func(format string, a ...any) response {
		r.why = fmt.Sprintf(format, a...) +
			": if it is fast, say so, as in averages=1s; else take a longer --power-guard and window"
		return r
	}
	if len(means) == 0 {
		return unknown("without idle power the load's step is not known")
	}
	var idle mean
	for _, m := range means {
		idle.Watts += m.Watts / float64(len(means))
		idle.U = math.Hypot(idle.U, t.random(m)/float64(len(means)))
	}
	apart := math.Abs(means[0].Watts - means[len(means)-1].Watts)
	r.step = load.Watts - idle.Watts
	edges := []edge{t.edge(at, at.Load, load, load.Watts-means[0].Watts)}
	off := len(windows) < 2 || apart > r.step/2
	for i, w := range windows {
		e := t.edge(at, w, means[i], means[i].Watts-load.Watts)
		if i == 0 && w == at.IdleBefore && math.IsNaN(e.left) {
			continue // it was not read before the first rest
		}
		edges = append(edges, e)
		off = off || w == at.IdleAfter && e.clear()
	}
	if edges[0].clear() && off {
		r.slow, r.why = true, fmt.Sprintf("its readings had not settled when the window began, more than %v after "+
			"the load's beginning, nor after its end: take a --power-guard of several times that, or a faster "+
			"instrument",
			time.Duration(at.GuardNs).Round(time.Millisecond))
		return r
	}
	if u := math.Hypot(t.random(load), idle.U); r.step < 4*u || r.step <= 0 {
		return unknown(
			"the load's step of %.1f W is not clear of the readings' scatter, which hides how fast it follows",
			r.step)
	}
	few := func(m mean) bool { return m.Fresh < fewFresh && m.N > m.Fresh && t.grid() == 0 }
	if few(load) {
		return unknown("of the window's %d readings %d are new: it measures too seldom", load.N, load.Fresh)
	}
	if slices.ContainsFunc(means, few) {
		r.noNet = "of a rest's readings too few are new, because it measures too seldom: take a longer --power-idle"
	}
	most := 0.
	for _, e := range edges {
		if math.IsNaN(e.left) {
			return unknown("there are too few readings in the guard to tell how fast it follows the load")
		}
		most = max(most, e.most())
	}
	switch {
	case apart > r.step/2:
		return unknown("idle power before and after the run is %.1f W apart, as of a meter that lags behind the load",
			apart)
	case most > slowest:
		return unknown("the readings around the load's beginning and end do not show that it had settled")
	}
	r.load = t.lacks(at, at.Load, most)
	for _, w := range windows {
		r.idle = max(r.idle, t.lacks(at, w, most))
	}
	return r
}

// edge compares the second half of the guard before a window with the window, by the step to it.
func (t Trace) edge(at Times, w Window, m mean, step float64) edge {
	half := at.GuardNs / 2
	t.before, t.after = 0, 0
	before, err := t.Sum(w.FromNs-half, w.FromNs)
	if err != nil {
		return edge{left: math.NaN()}
	}
	left := (m.Watts - before.Watts) / step
	both := math.Sqrt(1 + float64(w.ToNs-w.FromNs)/float64(half))
	u := func(window float64) float64 { return math.Hypot(window*both, t.grain()*math.Sqrt2) / math.Abs(step) }
	return edge{left, u(m.U), u(m.Straight)}
}

// lacks returns the limit of the share of the step that a window's mean lacks, where left of what
// it shows was still to go in the guard's second half. A lag of first order falls from the middle
// of that half to the middle of the window as the ratio of their times; an average falls faster.
// The factor covers that the middle of a curve is not its mean, and that the step itself is larger
// than it shows.
func (t Trace) lacks(at Times, w Window, left float64) float64 {
	guard := float64(at.GuardNs)
	power := min(2, (guard+float64(w.ToNs-w.FromNs)/2)/(guard*3/4))
	return 1.5 * math.Pow(left/(1-left), power)
}

// mostGrid is the coarsest step that readings are searched for, microwatts.
const mostGrid = 10e6

// grid finds the instrument's step: the largest of 1, 2 and 5 times a power of ten of which all
// readings are multiples, watts. 0: they are as fine as a thousandth of themselves, or all one.
func (t Trace) grid() float64 {
	var largest float64
	for c, ch := range t.Info.Channels {
		if ch.Part || ch.Kind != power {
			continue
		}
		var first, most int64 = none, 0
		various := false
		for _, s := range t.Samples {
			if v := s.V[c]; v != none {
				various = various || first != none && v != first
				first, most = v, max(most, v)
			}
		}
		if !various {
			continue
		}
		for ten := int64(mostGrid); ten > most/1000 && ten > 0; ten /= 10 {
			for _, step := range []int64{ten, ten / 2, ten / 5} {
				if float64(step)/1e6 > largest && t.multiples(c, step) {
					largest = float64(step) / 1e6
				}
			}
		}
	}
	return largest
}

// multiples reports whether all readings of a channel are multiples of a step.
func (t Trace) multiples(c int, step int64) bool {
	for _, s := range t.Samples {
		if v := s.V[c]; v != none && (step == 0 || v%step != 0) {
			return false
		}
	}
	return true
}
