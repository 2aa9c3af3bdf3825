// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"fmt"
	"slices"
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
	runs, recs := s.startTogether(ctx, runs)
	for i := range recs {
		s.judge(&recs[i])
	}
	again = s.spoilt(recs)
	told := false // of the first one, that it began
	for i, rec := range recs {
		if rec, err = s.keep(rec); err != nil {
			return append(made, rec), false, err
		}
		if s.Progress != nil && told && rec.Turns != nil {
			s.Progress.Begin(runs[i])
		}
		told = told || rec.Turns != nil
		made = append(made, s.tell(runs[i], rec, again))
	}
	return made, again, nil
}

// startTogether makes the runs, and returns them and their records in the order in which these were
// begun: first those that cannot be made.
func (s *Session) startTogether(ctx context.Context, runs []matrix.Run) (made []matrix.Run, recs []results.Record) {
	var play []matrix.Run
	for _, p := range runs {
		rec, refused := s.refuse(&p)
		if refused {
			made, recs = append(made, p), append(recs, rec)
			continue
		}
		play = append(play, p)
	}
	if len(play) == 0 {
		return made, recs
	}
	if s.Progress != nil {
		s.Progress.Begin(play[0])
	}
	if !s.AbortOnCancel {
		ctx = context.WithoutCancel(ctx)
	}
	opt := s.Runner.optionsOf(saysMost(cellsOf(play)))
	parts := opt.fitQueues(cellsOf(play))
	if play[0].Rep%2 == 1 { // none is always the first
		slices.Reverse(parts)
	}
	for _, part := range parts {
		var runs []matrix.Run
		for _, i := range part.cells {
			runs = append(runs, play[i])
		}
		begun := time.Now()
		for n, rec := range s.Runner.RunTogether(ctx, runs) {
			s.took(begun, &rec)
			if part.why != "" {
				rec.Warnings = append(rec.Warnings, part.why)
			}
			made, recs = append(made, runs[n]), append(recs, rec)
		}
	}
	return made, recs
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
