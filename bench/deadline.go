// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// ErrTime is a plan that was not over when it had to be: runs of it were not made.
var ErrTime = errors.New("the time was up")

// tooLate reports whether a run would not be over in time: it would take as long as the plan says,
// or as the longest so far, and a search as many trials as usual. One whose cell cannot run takes
// no time.
func (s *Session) tooLate(p matrix.Run) bool {
	usual, _ := s.tries(p)
	return s.missing(p.Cell) == nil && s.lacks(p, usual, 2*s.Runner.restTime())
}

// lacks reports whether there is no time for so many runs like p, and for that rest.
func (s *Session) lacks(p matrix.Run, runs int, rest time.Duration) bool {
	if s.Until.IsZero() {
		return false
	}
	takes := max(s.Runner.Opt.length(p)+overhead, s.longest)*time.Duration(runs) + rest
	return time.Until(s.Until) < takes
}

// timed makes a run and takes note of how long it took.
func (s *Session) timed(ctx context.Context, p matrix.Run) results.Record {
	begun := time.Now()
	rec := s.one(ctx, p)
	if rec.Verdict == results.OK || rec.Verdict == results.Invalid { // what hung says nothing of the others
		s.longest = max(s.longest, time.Since(begun))
	}
	return rec
}

// outOfTime returns an error if runs of the plan were not made.
func (s *Session) outOfTime() error {
	if s.unmade == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s not made", ErrTime, counted(s.unmade, "run was", "runs were"))
}
