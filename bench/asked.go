// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/machine/survey"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// Asker asks for starts one after another, each by what those before it showed.
type Asker interface {
	// Begin hears what the hosts are like, before any start is asked for.
	Begin(h *Found) error
	// Next returns the runs of the next start. They share a repetition, which no other start has.
	// None: it was the last.
	Next() ([]matrix.Run, error)
	// Tell hears what became of them.
	Tell(recs []results.Record) error
}

// Found is what hosts are like, for those who choose what to run on them.
type Found struct {
	SUT, TG *survey.Snapshot
	Dev     string        // of the SUT, whose queues the flow uses; "": loopback
	Driver  driver.Driver // of that
	Queues  []int         // its RX queues; nil: not known
	// Missing says why a cell cannot run, Length how long runs take.
	Missing func(plan.Cell) *Missing
	Length  func([]matrix.Run) time.Duration
	// Parts counts into how many parts a start falls because not all of its cells can be open
	// together.
	Parts func([]plan.Cell) int
}

// found describes the hosts of a stage.
func (st *stage) found(snapshots *hostSnapshots) *Found {
	s := &Session{Runner: &Runner{Opt: st.opt}, Missing: st.missing}
	return &Found{SUT: snapshots.found[ends.SUT], TG: snapshots.found[ends.TG], Dev: st.opt.SUTDev,
		Driver: driver.Of(st.opt.found[0].driver), Queues: st.opt.rxQueues[0], Missing: remembered(st.missing),
		Length: s.estimate, Parts: func(cells []plan.Cell) int {
			o := st.forCell(saysMost(cells), st.opt)
			return len(o.fitQueues(cells))
		}}
}

// PlayAsked plays what a asks for. Each start is in the journal before the next one is asked for;
// with [Resume] those that are there are told again, and not made. Something else that disturbs a
// start spoils it, and nothing makes it again: whoever asks decides.
func (e *Experiment) PlayAsked(ctx context.Context, a Asker) (err error) {
	if err := e.mayBegin(); err != nil {
		return err
	}
	p, err := e.prepare(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := a.Begin(p.stage.found(p.snapshots)); err != nil {
		return err
	}
	if err := e.start(p); err != nil {
		return err
	}
	s := e.session(p, nil)
	s.Again = nil
	made, err := e.openAsked(s, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.leave(s.Journal)) }()
	if err := p.snapshots.keep(s.Journal); err != nil {
		return err
	}
	return s.asked(ctx, a, made)
}

// LookAround tells f what the hosts are like, and changes nothing there. Where a program of the
// file's would have to run for that which nobody has read yet, it only writes which.
func (e *Experiment) LookAround(ctx context.Context, w io.Writer, f func(*Found) error) (err error) {
	if err := e.Spec.UntrustedHost(); err != nil && !e.TrustFile {
		preview{spec: e.Spec}.programs(w)
		return &inputError{err}
	}
	st, err := e.look(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	snapshots, err := st.survey(ctx)
	if err != nil {
		return err
	}
	return f(st.found(snapshots))
}

// openAsked opens the journal, and returns the records that it has of each repetition.
func (e *Experiment) openAsked(s *Session, p *prepared) (made map[int][]results.Record, err error) {
	if e.Begin == fresh {
		if s.Journal, err = results.CreateBelow(e.Dir, e.Below, p.head); err != nil {
			return nil, &FolderError{err}
		}
		return map[int][]results.Record{}, nil
	}
	w, j, err := e.reopen(p)
	if err != nil {
		return nil, err
	}
	s.Journal, made = w, map[int][]results.Record{}
	for _, r := range j.Records {
		s.sees(&r)
		made[r.Rep] = append(made[r.Rep], r)
	}
	return made, nil
}

// asked makes the starts that a asks for, but for those that were made.
func (s *Session) asked(ctx context.Context, a Asker, made map[int][]results.Record) (err error) {
	defer func() { err = errors.Join(err, s.Runner.Restore()) }()
	for {
		runs, err := a.Next()
		if err != nil || len(runs) == 0 {
			return err
		}
		if other := another(made[runs[0].Rep], runs); other != nil {
			return fmt.Errorf("%w: start %d was of %s, and is now of %s", ErrChanged, runs[0].Rep+1, other.Cell.ID,
				runs[0].Cell.ID)
		}
		recs := whole(made[runs[0].Rep], runs)
		for left := runs; recs == nil && len(left) > 0; {
			if err := context.Cause(ctx); err != nil {
				return fmt.Errorf("stopped before start %d: %w", runs[0].Rep+1, err)
			}
			start := matrix.Start(left)
			left = left[len(start):]
			now, _, err := s.start(ctx, start)
			if err != nil {
				return err
			}
			made[runs[0].Rep] = append(made[runs[0].Rep], now...)
		}
		if recs == nil {
			if recs = whole(made[runs[0].Rep], runs); recs == nil {
				return fmt.Errorf("start %d has no record of each of its runs", runs[0].Rep+1)
			}
		}
		if err := a.Tell(recs); err != nil {
			return err
		}
	}
}

// another finds a record that is of none of a start's runs: what was found on the hosts, by which
// settings are chosen, is not what it was. Nil: there is none.
func another(recs []results.Record, runs []matrix.Run) *results.Record {
	for i := range recs {
		k := recs[i].Cell.Key()
		if !slices.ContainsFunc(runs, func(r matrix.Run) bool { return r.Cell.Key() == k }) {
			return &recs[i]
		}
	}
	return nil
}

// whole returns the last record of each run of a start; nil: one of them is missing, because the
// session ended while the start was written.
func whole(recs []results.Record, runs []matrix.Run) (all []results.Record) {
	for i := range runs {
		k := runs[i].Cell.Key()
		at := -1
		for n := range recs {
			if recs[n].Cell.Key() == k {
				at = n
			}
		}
		if at < 0 {
			return nil
		}
		all = append(all, recs[at])
	}
	return all
}
