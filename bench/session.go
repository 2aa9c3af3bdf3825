// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// Progress hears of a plan's course. All calls come from one goroutine.
type Progress interface {
	// Plan is called once, with the number of runs and how long they will take.
	Plan(runs int, estimate time.Duration)
	// begin is called before a run that is really made.
	Begin(p matrix.Run)
	// Done is called after each run, also one that was only recorded.
	Done(rec results.Record)
	// Skip is called instead of both for a run whose cell is known well enough.
	Skip(p matrix.Run)
	// again is called for each run that is made once more, because it or another one of its block
	// was spoilt: before Done of a run of no block, else when the block has ended.
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
	Enough *adaptive
	// again makes blocks again, in their place, of which something else on the hosts has spoilt a
	// run, as often as Gates say; nil: it makes none.
	Again *again
	// LossFree is how cells that look for their rate do so.
	LossFree matrix.LossFree
	// Gates judge each run, beside what the ends find.
	Gates plan.Gates
	// StartsAnew: the agents are started anew for each block.
	StartsAnew bool
	// Renewal is about how long that takes, each time.
	Renewal time.Duration
	// Until is when the plan has to be over: no run begins that would not be, nor a trial of a
	// search, which then is given up. Zero: whenever.
	Until time.Time

	ran   map[plan.CellKey]bool
	rates rates // what shares of a pace come to

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
	s.Again.begin()
	turn := func(start []matrix.Run) (made []results.Record, again bool, err error) {
		if err := context.Cause(ctx); err != nil {
			return nil, false, fmt.Errorf("stopped after %d of %d runs: %w", len(recs), len(plan), err)
		}
		made, again, err = s.start(ctx, start)
		recs = append(recs, made...)
		return made, again, err
	}
	for left := plan; len(left) > 0; {
		block := s.Again.block(left)
		left = left[len(block):]
		if err := s.anew(ctx, plan, block); err != nil {
			return recs, err
		}
		count, err := s.Again.play(block, s.Gates.Replacements(), s.repeat, turn)
		if err != nil {
			return recs, err
		}
		for _, rec := range count {
			s.Enough.Add(rec)
		}
	}
	return recs, errors.Join(s.Runner.SUT.Err(), s.Runner.TG.Err(), s.outOfTime())
}

// repeat tells that a run is made once more.
func (s *Session) repeat(p matrix.Run) {
	if s.Progress != nil {
		s.Progress.Again(p)
	}
}

// leavesOut reports whether a run of the plan is not made: its cell is known well enough, or there
// is no time for it; or its block is made again, and its cell, on record already, cannot run.
func (s *Session) leavesOut(p matrix.Run) bool {
	if s.onRecord(p) {
		return true
	}
	if s.Enough.done(p) {
		if s.Progress != nil {
			s.Progress.Skip(p)
		}
		return true
	}
	if s.tooLate(p) {
		s.unmade++
		return true
	}
	return false
}

// onRecord reports whether a run's block is made again, and its cell, on record already, cannot
// run.
func (s *Session) onRecord(p matrix.Run) bool { return p.Try > 1 && s.missing(p.Cell) != nil }

// start makes the next run of the plan, or those that take turns, unless they are left out.
func (s *Session) start(ctx context.Context, runs []matrix.Run) (made []results.Record, again bool, err error) {
	switch {
	case runs[0].Group > 0:
		left := slices.DeleteFunc(slices.Clone(runs), s.onRecord)
		if len(left) == 0 {
			return nil, false, nil
		}
		return s.together(ctx, left)
	case s.leavesOut(runs[0]):
		return nil, false, nil
	}
	return s.turn(ctx, runs[0])
}

// turn makes a run of the plan, writes it into the journal and tells all who steer by it. A search
// makes trials before it, which are written already. It reports whether to make the run again. The
// record of a journal that could not be written is among those made: the user can still be shown
// it.
func (s *Session) turn(ctx context.Context, p matrix.Run) (made []results.Record, again bool, err error) {
	can := s.missing(p.Cell) == nil
	if can {
		if err := s.Runner.replaceLostAgents(ctx); err != nil {
			return nil, false, err
		}
	}
	var rec results.Record
	if can && searches(p) {
		if rec, made, err = s.search(ctx, p); err != nil {
			return made, false, err
		}
	} else {
		rec = s.one(ctx, p)
	}
	if rec, err = s.keep(rec); err != nil {
		return append(made, rec), false, err
	}
	again = s.Again.wants(&rec, s.Gates.Replacements())
	return append(made, s.tell(p, rec, again)), again, nil
}

// tell tells all who steer by a run's record, which is in the journal, and returns what they keep.
func (s *Session) tell(p matrix.Run, rec results.Record, again bool) results.Record {
	if again {
		s.repeat(p)
	}
	if !s.Again.ofBlock(p) { // else whether it counts is known at the block's end
		s.Enough.Add(rec)
	}
	s.rates.add(rec)
	if s.Progress != nil {
		s.Progress.Done(rec)
	}
	if s.Journal != nil {
		outline(&rec)
	}
	return rec
}

// one makes a run, or records why it cannot be, and judges it.
func (s *Session) one(ctx context.Context, p matrix.Run) results.Record {
	rec, refused := s.refuse(&p)
	if !refused {
		rec = s.run(ctx, p)
	}
	if p.Trial {
		rec.Warmup = true
		rec.Flags = append(slices.Clip(rec.Flags), results.FlagTrial)
	}
	s.judge(&rec)
	return rec
}

// refuse records a run that cannot be made: its cell cannot run, or its pace is unknown. Otherwise
// it gives the run its pace.
func (s *Session) refuse(p *matrix.Run) (rec results.Record, refused bool) {
	if m := s.missing(p.Cell); m != nil {
		return s.Runner.Unsupported(*p, m), true
	}
	m, v := s.rates.settle(&p.Cell)
	if m == nil {
		return rec, false
	}
	rec = s.Runner.Unsupported(*p, m)
	rec.Verdict, rec.Blocked = v, m.Blocked && v == results.Unsupported
	return rec, true
}

// run makes a run and takes note of how long it took.
func (s *Session) run(ctx context.Context, p matrix.Run) results.Record {
	begun := time.Now()
	if s.Progress != nil {
		s.Progress.Begin(p)
	}
	if !s.AbortOnCancel {
		ctx = context.WithoutCancel(ctx)
	}
	rec := s.Runner.Run(ctx, p)
	s.took(begun, &rec)
	return rec
}

// took takes note of how long a run took.
func (s *Session) took(begun time.Time, rec *results.Record) {
	// The mode has tried before the plan whether it can run here, and nothing was missing.
	rec.Blocked = rec.Verdict == results.Unsupported
	if rec.Verdict == results.OK || rec.Verdict == results.Invalid { // what hung says nothing of the others
		s.longest = max(s.longest, time.Since(begun))
	}
}

func (s *Session) missing(c plan.Cell) *Missing {
	if s.Missing == nil {
		return nil
	}
	return s.Missing(c)
}

// judge judges a run by the gates.
func (s *Session) judge(rec *results.Record) {
	s.sees(rec)
	judge.Run(s.Gates, rec)
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

// outline leaves of a record what a session's course is told by.
func outline(rec *results.Record) {
	rec.Attached = results.Attached{}
	for _, h := range []*results.Host{&rec.SUT, &rec.TG} {
		h.Metrics, h.Series, h.Idle, h.Env = nil, nil, nil, measure.Env{}
	}
}

// know takes note of the runs that a journal has.
func (s *Session) know(recs []results.Record) {
	for i := range recs {
		s.sees(&recs[i])
		s.Again.know(&recs[i], s.Gates.Replacements())
	}
}
