// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/gate"
)

// Progress hears of a plan's course. All calls come from one goroutine.
type Progress interface {
	// Plan is called once, with the number of runs and how long they will take.
	Plan(runs int, estimate time.Duration)
	// Begin is called before a run that is really made.
	Begin(p matrix.Run)
	// Done is called after each run, also one that was only recorded.
	Done(rec results.Record)
	// Skip is called instead of both for a run whose cell is known well enough.
	Skip(p matrix.Run)
	// Again is called after a run that was spoilt, and is made once more.
	Again(p matrix.Run)
	// End is called once.
	End()
}

// Session plays a plan: one run at a time, each in the journal before the next.
type Session struct {
	Runner   *Runner
	Journal  *results.Writer // nil keeps nothing
	Progress Progress        // nil is silent
	// AbortOnCancel calls off the run under way when the context ends, instead
	// of letting it finish.
	AbortOnCancel bool
	// Missing says why a cell cannot run; nil where it can.
	Missing func(plan.Cell) *Missing
	// Enough ends the repetitions of cells early; nil makes them all.
	Enough *Adaptive
	// Again makes runs again, in their place, that something else on the hosts has spoilt, as
	// often as Gates say. MostAgain bounds how many that may be in all; 0: nothing does.
	Again     bool
	MostAgain int
	AgainFor  time.Duration // since the plan's beginning; 0: as long as it takes
	// LossFree is how cells that look for their rate do so.
	LossFree matrix.LossFree
	// Gates judge each run, beside what the ends find.
	Gates plan.Gates
	// Until is when the plan has to be over: no run begins that would not be, nor a trial of a
	// search, which then is given up. Zero: whenever.
	Until time.Time

	course *gate.Course
	spoilt map[slot]int // tries that something else spoilt
	ran    map[plan.CellKey]bool
	rates  rates // what shares of a pace come to

	longest time.Duration // that a run took so far
	unmade  int           // runs for which there was no time
}

// Missing is why a cell cannot run on these hosts, and what to do about it.
type Missing = plan.Refusal

// Play runs the plan until its end or that of ctx, which lets the run under way
// finish. What all cells need set on the hosts is set for the whole of it, and
// everything is restored at its end. A run whose agent is lost is failed, and the
// next one gets another agent. Its error is a journal that could not be written, or
// a host that gets no agent any more: then nothing more can run.
//
// It returns all records; where there is a journal, which has them whole, without
// their metrics, series and environment: those of a long session would fill the
// memory of the machine that is measured.
func (s *Session) Play(ctx context.Context, plan []matrix.Run) (recs []results.Record, err error) {
	defer func() { err = errors.Join(err, s.Runner.Restore()) }()
	if s.Progress != nil {
		s.Progress.Plan(len(plan), s.estimate(plan))
		defer s.Progress.End()
	}
	s.rates.want(plan)
	s.applyCommon(ctx, plan)
	again, begun := 0, time.Now()
	for i := 0; i < len(plan); i++ {
		p := plan[i]
		if err := context.Cause(ctx); err != nil {
			return recs, fmt.Errorf("stopped after %d of %d runs: %w", len(recs), len(plan), err)
		}
		if s.Enough.done(p) {
			if s.Progress != nil {
				s.Progress.Skip(p)
			}
			continue
		}
		if s.tooLate(p) {
			s.unmade++
			continue
		}
		if s.missing(p.Cell) == nil {
			if err := s.Runner.revive(ctx); err != nil {
				return recs, err
			}
		}
		rec, trials, err := s.turn(ctx, p)
		if recs = append(recs, trials...); err != nil {
			return recs, err
		}
		if rec, err = s.keep(rec); err != nil {
			return append(recs, rec), err // the user can still be shown it
		}
		if s.toReplace(&rec) && (s.MostAgain == 0 || again < s.MostAgain) &&
			(s.AgainFor == 0 || time.Since(begun) < s.AgainFor) {
			i, again = i-1, again+1
			if s.Progress != nil {
				s.Progress.Again(p)
			}
		}
		s.Enough.Add(rec)
		s.rates.add(rec)
		if s.Progress != nil {
			s.Progress.Done(rec)
		}
		if s.Journal != nil {
			outline(&rec)
		}
		recs = append(recs, rec)
	}
	return recs, errors.Join(s.Runner.SUT.Err(), s.Runner.TG.Err(), s.outOfTime())
}

// turn makes a run of the plan and judges it; trials are what a search made before it, and are in
// the journal.
func (s *Session) turn(ctx context.Context, p matrix.Run) (run results.Record, trials []results.Record, err error) {
	if searches(p) && s.missing(p.Cell) == nil {
		return s.search(ctx, p)
	}
	run = s.timed(ctx, p)
	s.judge(&run)
	return run, nil, nil
}

// slot is one repetition of a cell.
type slot struct {
	cell plan.CellKey
	rep  int
}

// sees takes note of a cell that ran, well or not. What a run of such a cell is refused later is
// no matter of what these hosts can do: it failed, and may be made again. The kernel gives back
// what a run before had in its own time, and others take and leave memory and queues.
func (s *Session) sees(rec *results.Record) {
	if s.ran == nil {
		s.ran = map[plan.CellKey]bool{}
	}
	k := rec.Cell.Key()
	switch {
	case rec.Verdict == results.OK, rec.Verdict == results.Invalid:
		s.ran[k] = true
	case rec.Verdict == results.Unsupported && s.ran[k]:
		rec.Verdict, rec.Blocked = results.Failed, false
		rec.Reason += "; this cell ran here before, so it can"
	}
}

// judge judges a run by the gates.
func (s *Session) judge(rec *results.Record) {
	s.sees(rec)
	if s.course == nil {
		s.course = gate.NewCourse(s.Gates)
	}
	s.course.Judge(rec)
}

// know takes note of the runs that a journal has.
func (s *Session) know(recs []results.Record) {
	s.course = gate.NewCourse(s.Gates)
	for i := range recs {
		s.sees(&recs[i])
		s.course.Know(&recs[i])
		s.toReplace(&recs[i])
	}
}

// toReplace reports whether to make a run again in its place, because something else spoilt it. It
// counts these.
func (s *Session) toReplace(rec *results.Record) bool {
	if !s.Again || !rec.Spoilt() {
		return false
	}
	if s.spoilt == nil {
		s.spoilt = map[slot]int{}
	}
	k := slot{rec.Cell.Key(), rec.Rep}
	if rec.Calibrates() {
		k.rep = -1 - k.rep // the plan may have the cell without a pace, too
	}
	s.spoilt[k]++
	return s.spoilt[k] <= s.Gates.Replacements()
}

// outline leaves of a record what a session's course is told by.
func outline(rec *results.Record) {
	rec.Attached = results.Attached{}
	for _, h := range []*results.Host{&rec.SUT, &rec.TG} {
		h.Metrics, h.Series, h.Idle, h.Env = nil, nil, nil, measure.Env{}
	}
}

// keep writes a record into the journal, and returns what is there now. One that no
// journal takes, whatever an agent did to it, costs that run its figures and not
// the session its runs.
func (s *Session) keep(rec results.Record) (results.Record, error) {
	if s.Journal == nil {
		return rec, nil
	}
	if err := s.Journal.Attach(&rec); err != nil {
		return rec, err
	}
	err := s.Journal.Append(rec)
	if unfit := (*results.UnfitError)(nil); errors.As(err, &unfit) {
		rec = rec.Without(unfit)
		err = s.Journal.Append(rec)
	}
	return rec, err
}

func (s *Session) one(ctx context.Context, p matrix.Run) results.Record {
	if m := s.missing(p.Cell); m != nil {
		return s.Runner.Unsupported(p, m)
	}
	if m, v := s.rates.settle(&p.Cell); m != nil {
		rec := s.Runner.Unsupported(p, m)
		rec.Verdict, rec.Blocked = v, m.Blocked && v == results.Unsupported
		return rec
	}
	if s.Progress != nil {
		s.Progress.Begin(p)
	}
	if !s.AbortOnCancel {
		ctx = context.WithoutCancel(ctx)
	}
	rec := s.Runner.Run(ctx, p)
	// The mode has tried before the plan whether it can run here, and nothing was missing.
	rec.Blocked = rec.Verdict == results.Unsupported
	return rec
}

func (s *Session) missing(c plan.Cell) *Missing {
	if s.Missing == nil {
		return nil
	}
	return s.Missing(c)
}

// overhead is what a run takes beside its window and cuts: opening, closing and
// reading counters.
const overhead = 150 * time.Millisecond

// estimate returns how long a plan takes, where searches take as many trials as usual.
func (s *Session) estimate(plan []matrix.Run) time.Duration {
	return s.estimateOf(plan, func(p matrix.Run) int { usual, _ := s.tries(p); return usual })
}

// estimateOf returns how long a plan takes where each run is made so many times.
func (s *Session) estimateOf(plan []matrix.Run, times func(matrix.Run) int) time.Duration {
	var d time.Duration
	for _, p := range plan {
		if s.missing(p.Cell) == nil {
			d += (s.Runner.Opt.length(p) + overhead) * time.Duration(times(p))
		}
	}
	if rest := s.Runner.restTime(); rest > 0 {
		n, _ := s.countRests(plan)
		d += time.Duration(n) * rest
	}
	return d
}

// countRests counts the rests of a plan: one after each run that counts, and one before it where
// there was none since the last run, or where that had other settings (anew).
func (s *Session) countRests(planned []matrix.Run) (n, anew int) {
	known := map[plan.CellKey]inForce{} // a plan has far more runs than cells
	var last inForce
	rested, replay := false, 0
	for _, p := range planned {
		if s.missing(p.Cell) != nil {
			continue
		}
		k := p.Cell.Key()
		set, ok := known[k]
		if !ok {
			set.sut, set.tg = settingsOf(s.Runner.optionsOf(p.Cell), p.Cell)
			known[k] = set
		}
		rested = rested && p.Replay == replay // another one has other agents
		switch {
		case p.Warmup:
		case !rested:
			n += 2
		case !set.same(last):
			n, anew = n+2, anew+1
		default:
			n++
		}
		rested, last, replay = !p.Warmup, set, p.Replay
	}
	return n, anew
}

// length returns how long a flow lasts.
func (o Options) length(p matrix.Run) time.Duration {
	return startDelay + o.RampUp + o.window(p) + o.RampDown
}

func (o Options) window(p matrix.Run) time.Duration {
	switch {
	case p.Calibrates:
		return o.calibrationWindow()
	case p.Warmup && !p.Trial && o.WarmupDuration > 0:
		return o.WarmupDuration
	}
	return o.Duration
}
