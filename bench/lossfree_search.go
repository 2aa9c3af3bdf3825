// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"slices"

	"github.com/zcbench/zcbench/results"
)

// LossSearch looks for the highest rate of packets that loses no more than a share, in the manner
// of RFC 2544, section 26.1: as fast as it can be, then between what passed and what did not. It
// says which rate to try next, and is told what became of it.
type LossSearch struct {
	MaxLoss float64 // share of the sent packets
	// how near to each other the highest rate that passed and the lowest that failed are at the
	// end, as a share
	Resolution float64
	Confirm    int     // so many times in a row the rate that is told has passed
	Least      float64 // packets a second below which it is not looked for
	MostTrials int     // after which it is given up

	late    bool // there is no time for one trial more
	trials  int
	spoilt  int     // of these, that said nothing
	latest  float64 // the rate of the last trial
	tried   []triedRate
	free    triedRate // as fast as it can be
	ceiling float64   // the sender can do no more
	slowest float64   // of the trials in which it did what it can
}

// triedRate is what trials of one rate came to.
type triedRate struct {
	rate           float64 // packets a second
	passed, failed int
	missed         int     // of the failed: the sender did not keep the pace, and nothing was lost but what may be
	sent           float64 // packets a second that the sender came to, the least of those that passed
}

// trial is what became of one.
type trial struct {
	Asked float64 // packets a second; 0: as fast as it could be
	Sent  float64 // packets a second that the sender came to
	Got   float64 // that the receiver came to
	Loss  float64 // share of the sent ones
}

// paceMissed is by which share of what was asked for a sender may be slower: what was really sent
// is what a search tells.
const paceMissed = 0.01

// Next chooses the rate to try, in packets a second; 0: as fast as it can be. False: the search is
// over.
func (s *LossSearch) Next() (rate float64, more bool) {
	if s.givenUp() {
		return 0, false
	}
	if s.free.failed == 0 { // never tried, or without loss
		return 0, s.free.passed < s.Confirm
	}
	passed, failed := s.edges()
	best := s.at(passed)
	switch {
	case failed <= s.Least:
		return 0, false
	case passed == 0 && s.at(s.guess()).failed == 0:
		return s.guess(), true
	case passed == 0:
		return max(failed/2, s.Least), true
	case s.apart(passed, failed):
		return (passed + failed) / 2, true
	}
	return passed, best.passed < s.Confirm || s.latest != passed // it ends with a trial of what it tells
}

// givenUp reports whether there will be no more trials, whatever was found.
func (s *LossSearch) givenUp() bool { return s.late || s.trials >= s.MostTrials }

// guess returns what the receiver took of a flood, but below what failed: the receiver may have
// taken nearly all, and by what comes at a window's edges even more.
func (s *LossSearch) guess() float64 {
	return max(min(s.free.rate, s.ceiling/(1+s.Resolution)), s.Least)
}

// apart reports whether two rates are not yet as near to each other as they are to be, but for
// rounding.
func (s *LossSearch) apart(passed, failed float64) bool {
	return failed > passed*(1+s.Resolution)*(1+1e-9)
}

// edges finds the highest rate that passed each time, and the lowest that did not.
func (s *LossSearch) edges() (passed, failed float64) {
	failed = s.ceiling
	for _, t := range s.tried {
		if t.failed > 0 {
			failed = min(failed, t.rate)
		}
	}
	for _, t := range s.tried {
		if t.failed == 0 && t.rate < failed {
			passed = max(passed, t.rate)
		}
	}
	return passed, failed
}

func (s *LossSearch) at(rate float64) triedRate {
	if i := slices.IndexFunc(s.tried, func(t triedRate) bool { return t.rate == rate }); i >= 0 {
		return s.tried[i]
	}
	return triedRate{rate: rate}
}

// Passes reports whether a trial passed.
func (s *LossSearch) Passes(t trial) bool { return t.Loss <= s.MaxLoss && !t.missed() }

// missed reports whether the sender did not keep the pace.
func (t *trial) missed() bool { return t.Asked > 0 && t.Sent < t.Asked*(1-paceMissed) }

// Spoilt takes note of a trial that says nothing.
func (s *LossSearch) Spoilt() { s.trials, s.spoilt = s.trials+1, s.spoilt+1 }

// Last reports whether the search is over if the next trial passes.
func (s *LossSearch) Last() bool {
	c := *s
	c.tried = slices.Clone(s.tried)
	rate, more := c.Next()
	if !more {
		return false
	}
	sent := cmp.Or(rate, c.slowest, 1)
	c.Add(trial{Asked: rate, Sent: sent, Got: sent})
	_, more = c.Next()
	return !more
}

// Add takes a trial of the rate that Next told.
func (s *LossSearch) Add(t trial) {
	s.trials, s.latest = s.trials+1, t.Asked
	count := func(r *triedRate) {
		if s.Passes(t) {
			r.passed, r.sent = r.passed+1, min(cmp.Or(r.sent, t.Sent), t.Sent)
			return
		}
		if r.failed++; t.Loss <= s.MaxLoss {
			r.missed++
		}
	}
	if t.Asked == 0 {
		count(&s.free)
		s.ceiling, s.slowest, s.free.rate = max(s.ceiling, t.Sent), min(cmp.Or(s.slowest, t.Sent), t.Sent),
			cmp.Or(t.Got, t.Sent)
		return
	}
	i := slices.IndexFunc(s.tried, func(r triedRate) bool { return r.rate == t.Asked })
	if i < 0 {
		i, s.tried = len(s.tried), append(s.tried, triedRate{rate: t.Asked})
	}
	count(&s.tried[i])
}

// atFound reports whether the last trial was at the pace that was found.
func (s *LossSearch) atFound() bool {
	if s.free.failed == 0 {
		return true // there was no other
	}
	passed, _ := s.edges()
	return s.latest == passed
}

// Found sums up what the search has come to.
func (s *LossSearch) Found() results.LossFree {
	f := results.LossFree{MaxLoss: s.MaxLoss, Inconclusive: s.spoilt, Trials: s.trials, GivenUp: s.givenUp()}
	if s.free.failed == 0 {
		f.BySender, f.Passed = true, s.free.passed
		if f.Passed > 0 {
			f.PacketsPerS = s.slowest
		}
		f.GivenUp = f.GivenUp && f.Passed < s.Confirm
		return f
	}
	passed, failed := s.edges()
	best, edge := s.at(passed), s.at(failed)
	f.PacketsPerS, f.FailedAt, f.Passed = min(passed, best.sent), failed, best.passed
	f.BySender = edge.failed > 0 && edge.missed == edge.failed
	f.GivenUp = f.GivenUp && (f.Passed < s.Confirm || s.apart(passed, failed))
	return f
}
