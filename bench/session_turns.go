// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// together makes the runs of cells that take turns, and writes all of them. One that cannot be made
// is recorded, and the others take turns without it. Where something else spoilt one, all are made
// again: what was the same for all would be so no longer.
func (s *Session) together(ctx context.Context, runs []matrix.Run) (made []results.Record, again bool, err error) {
	if s.tooLate(runs...) {
		s.unmade += len(runs)
		return nil, false, nil
	}
	if err := s.Runner.replaceLostAgents(ctx); err != nil {
		return nil, false, err
	}
	recs, runs, refused := s.startTogether(ctx, runs)
	for i := range recs {
		s.judge(&recs[i])
	}
	again = s.spoilt(recs)
	for i, rec := range recs {
		if rec, err = s.keep(rec); err != nil {
			return append(made, rec), false, err
		}
		if s.Progress != nil && i > refused && rec.Turns != nil {
			s.Progress.Begin(runs[i])
		}
		made = append(made, s.tell(runs[i], rec, again))
	}
	return made, again, nil
}

// startTogether makes the runs and returns their records, first those of so many that cannot be
// made, and the runs in the same order.
func (s *Session) startTogether(ctx context.Context, runs []matrix.Run) (recs []results.Record, in []matrix.Run,
	refused int) {
	var play []matrix.Run
	for _, p := range runs {
		if rec, cannot := s.refuse(&p); cannot {
			recs, in, refused = append(recs, rec), append(in, p), refused+1
		} else {
			play = append(play, p)
		}
	}
	if len(play) == 0 {
		return recs, in, refused
	}
	if s.Progress != nil {
		s.Progress.Begin(play[0])
	}
	if !s.AbortOnCancel {
		ctx = context.WithoutCancel(ctx)
	}
	begun := time.Now()
	for i, rec := range s.Runner.RunTogether(ctx, play) {
		s.took(begun, &rec)
		recs, in = append(recs, rec), append(in, play[i])
	}
	return recs, in, refused
}

// spoilt reports whether something else spoilt one of the runs that were made together, and all are
// to be made again. Then none of them counts.
func (s *Session) spoilt(recs []results.Record) (again bool) {
	whose := ""
	for i := range recs {
		if s.Again.wants(&recs[i], s.Gates.Replacements()) {
			again, whose = true, recs[i].Cell.ID
		}
	}
	for i := range recs {
		if rec := &recs[i]; again && rec.Verdict == results.OK {
			rec.Fail(plan.ByEnvironment, fmt.Sprintf("it took turns with %s, which something else disturbed", whose),
				"nothing: all of them are made again")
		}
	}
	return again
}
