// SPDX-License-Identifier: MIT

package tune

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/race"
)

// Tell takes what a start showed.
func (s *Search) Tell(recs []results.Record) error {
	now := s.now
	if s.again(recs) {
		if s.tries++; disturbed(recs) {
			s.lose(s.seconds(recs))
		}
		return nil
	}
	s.tries = 0
	seconds := s.seconds(recs)
	if now.trial == nil {
		return s.tellRace(now, seconds, recs)
	}
	for i := range recs {
		s.tried(now.entry, now.trial[i], &recs[i])
	}
	if s.queue = s.queue[1:]; len(s.queue) > 0 {
		return nil
	}
	return s.begin()
}

// mostTries is how often a start is made that something else disturbs.
const mostTries = 3

// again reports whether to make a start again: something else disturbed it, or a run failed. What
// is tried for the first time is believed to be invalid only if it is so again.
func (s *Search) again(recs []results.Record) bool {
	return s.tries+1 < mostTries && slices.ContainsFunc(recs, func(r results.Record) bool {
		return r.Verdict == results.Failed || r.FailedGate() == plan.ByEnvironment ||
			r.Verdict == results.Invalid && s.now.trial != nil
	})
}

// disturbed reports whether something else disturbed a start.
func disturbed(recs []results.Record) bool {
	return slices.ContainsFunc(recs, func(r results.Record) bool { return r.FailedGate() == plan.ByEnvironment })
}

// lose takes time that something else spoilt from all races that go on, from each as much:
// whoever's start it was, it is not charged for that alone. What was spoilt before they began is
// theirs, too.
func (s *Search) lose(seconds float64) {
	s.lost += seconds
	var on []*entry
	for _, e := range s.entries {
		if _, ok := e.next(); ok {
			on = append(on, e)
		}
	}
	if len(on) == 0 {
		return
	}
	for _, e := range on {
		e.lose(s.lost / float64(len(on)))
	}
	s.lost = 0
}

// lose takes time from the mode's race.
func (e *entry) lose(seconds float64) {
	e.race.Lose(seconds)
	e.seconds -= seconds
}

// tellRace tells a mode's race what a start showed.
func (s *Search) tellRace(now *start, seconds float64, recs []results.Record) error {
	e := now.entry
	var readings []race.Reading
	for i, arm := range now.race.Arms {
		if v, out, ok := s.read(e, arm, &recs[i]); ok {
			readings = append(readings, race.Reading{Arm: arm, Value: v, Out: out})
			if out != "" {
				what := cmp.Or(strings.Join(e.words(e.field.Arms[arm]), " "), atDefaults)
				e.Cannot = append(e.Cannot, Cannot{e.Name, what, out, recs[i].Fix})
			}
		}
	}
	if len(readings) == 0 && disturbed(recs) { // made thrice
		e.lose(-seconds)
		s.lose(seconds)
	}
	if err := e.race.Tell(now.race, seconds, readings); err != nil {
		return fmt.Errorf("%s: %w", e.Name, err)
	}
	if next, ok := e.race.Next(); !ok || next.Block != now.race.Block {
		s.sayBlock(e, now.race.Block, ok)
	}
	return nil
}

// mostFails is how often runs of a setting may fail, be invalid, or miss the pace.
const mostFails = 2

// atDefaults is what a setting is that differs in nothing.
const atDefaults = "at its defaults"

// read reads what a run says of its setting: a value, or why it is out. ok is false where it says
// nothing: something else disturbed it, or it failed, was invalid or missed the pace, which may be
// once.
func (s *Search) read(e *entry, arm int, r *results.Record) (v float64, out string, ok bool) {
	if v, ok := s.goal.value(r); ok {
		return v, "", true
	}
	switch {
	case r.Verdict == results.Unsupported:
		return 0, r.Reason, true
	case r.FailedGate() == plan.ByEnvironment:
		return 0, "", false
	case r.Verdict == results.OK && s.goal.offPace(r):
		out = "it does not hold the pace of all modes"
	case r.Verdict == results.OK:
		return 0, "its run has no " + s.goal.Name, true
	default:
		out = r.Reason
	}
	if e.fails[arm]++; e.fails[arm] < mostFails {
		return 0, "", false
	}
	return 0, out, true
}

// seconds returns how long a start took with what lay between it and the one before, from end to
// end, and remembers its end; 0: not known. Starts of which a run failed are in the time of the one
// that was made in their place.
func (s *Search) seconds(recs []results.Record) float64 {
	was, now := s.last, ending{session: recs[0].SessionID}
	for i := range recs {
		now.utcNs = max(now.utcNs, recs[i].EndUTCNs())
	}
	s.last = now
	if was.session != now.session || was.utcNs == 0 || now.utcNs <= was.utcNs {
		return 0
	}
	return float64(now.utcNs-was.utcNs) / 1e9
}

// sayBlock says how a race stands after a block.
func (s *Search) sayBlock(e *entry, block int, goesOn bool) {
	in := 0
	for _, p := range e.race.Standing() {
		if p.Left == 0 {
			in++
		}
	}
	lead := "no run counted"
	if l, ok := e.race.Leaders(); ok {
		lead = "the defaults lead"
		if words := e.words(e.field.Arms[l.Winner]); words != nil {
			lead = strings.Join(words, " ") + " leads"
		}
		if l.Winner != e.field.Default && l.Gain > 0 {
			lead += fmt.Sprintf(" (%+.1f %% so far)", 100*(l.Gain-1))
		}
	}
	how := fmt.Sprintf("%d settings go on", in)
	if !goesOn {
		how = "the race is over"
	}
	s.note("%s, block %d: %s; %s (%.0f of %.0f s)", e.Name, block+1, lead, how, e.race.Spent(), e.seconds)
}
