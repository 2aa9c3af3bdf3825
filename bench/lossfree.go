// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// mostInvalid is how many runs in a row may be invalid until the search ends with an error.
const mostInvalid = 5

// FindLossFree plays the experiment's only cell at one pace after another, until s is over. Each
// run is in the journal, with its pace. Its error is as that of [Experiment.Run], or a run of which
// nobody can say what it lost.
func (e *Experiment) FindLossFree(ctx context.Context, s *LossSearch) (recs []results.Record, err error) {
	if err := e.vacant(); err != nil {
		return nil, err
	}
	p, err := e.prepare(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := e.start(p); err != nil {
		return nil, err
	}
	play := &Session{Runner: p.runner, Gates: e.Spec.Gates, AbortOnCancel: e.AbortOnCancel, Again: &again{Alone: true},
		Missing: p.missing}
	if _, err := e.openJournal(play, p, nil); err != nil {
		return nil, err
	}
	if play.Journal != nil {
		defer func() { err = errors.Join(err, e.leave(play.Journal)) }()
	}
	if err := p.snapshots.keep(play.Journal); err != nil {
		return nil, err
	}
	cell, invalid := e.Spec.Cells[0], 0
	for n := 0; ; n++ {
		rate, more := s.Next()
		if !more {
			return recs, nil
		}
		made, err := play.Play(ctx, []matrix.Run{{Cell: atRate(cell, rate), Block: n, Rep: n}})
		if recs = append(recs, made...); err != nil {
			return recs, err
		}
		if len(made) > 0 && made[len(made)-1].Verdict == results.Invalid && invalid < mostInvalid {
			invalid++
			s.Spoilt()
			e.note(fmt.Sprintf("trial %d is inconclusive: %s", n+1, made[len(made)-1].Reason))
			continue
		}
		invalid = 0
		t, err := trialOf(n+1, rate, made)
		if err != nil {
			return recs, err
		}
		s.Add(t)
		e.note(fmt.Sprintf("trial %d: %s", n+1, t.text(s.Passes(t))))
	}
}

// atRate sets a cell's pace to so many packets a second; 0: as many as its sender can.
func atRate(c plan.Cell, rate float64) plan.Cell {
	c.PaceBitsPS, c.PacePercent = int(rate*float64(messageOf(c))*8+.5), 0
	return c
}

func messageOf(c plan.Cell) int {
	if c.MessageBytes > 0 {
		return c.MessageBytes
	}
	return stream.DefaultDatagramBytes
}

// LeastRate converts the slowest pace there is to a cell's packets a second.
func LeastRate(c plan.Cell) float64 { return plan.LeastPace / 8 / float64(messageOf(c)) }

// trialOf reads trial n from the last of its runs; those before it were spoilt.
func trialOf(n int, rate float64, made []results.Record) (t trial, err error) {
	asked := "as fast as possible"
	if rate > 0 {
		asked = fmt.Sprintf("at %.0f packets/s", rate)
	}
	if len(made) == 0 {
		return t, fmt.Errorf("trial %d of the search, %s: no run was made", n, asked)
	}
	r := made[len(made)-1]
	lost := r.SUT.Packets.LostShare()
	switch {
	case r.Verdict != results.OK:
		return t, &fault.Error{Op: fmt.Sprintf("trial %d of the search, %s, is %s, so its loss is unknown: %s", n,
			asked, r.Verdict, r.Reason), How: r.Fix}
	case lost == nil || r.SUT.PacketsPerS == nil || r.TG.PacketsPerS == nil:
		return t, fmt.Errorf("trial %d of the search, %s, does not say what was sent, received and lost", n, asked)
	}
	return trial{Asked: rate, Sent: *r.TG.PacketsPerS, Got: *r.SUT.PacketsPerS, Loss: *lost}, nil
}

func (t *trial) text(passed bool) string {
	asked := "as fast as possible"
	if t.Asked > 0 {
		asked = fmt.Sprintf("%.1f kpps", t.Asked/1e3)
	}
	how := "passed"
	switch {
	case t.missed():
		how = "failed, the sender was too slow"
	case !passed:
		how = "failed"
	}
	early := "" // each end counts in its own window
	if t.Got > t.Sent {
		early = " (with what was on its way when the window began)"
	}
	return fmt.Sprintf("%s: sent %.1f, received %.1f kpps%s, lost %.4f %%: %s", asked, t.Sent/1e3, t.Got/1e3, early,
		100*t.Loss, how)
}
