// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"fmt"
	"time"

	"github.com/zcbench/zcbench/plan/matrix"
)

// ErrTime is a plan that was not over when it had to be: runs of it were not made.
var ErrTime = errors.New("the time was up")

// tooLate reports whether runs that are made together would not be over in time: a run would take
// as long as the plan says, or as the longest so far, and a search as many trials as usual. One
// whose cell cannot run takes no time.
func (s *Session) tooLate(start ...matrix.Run) bool {
	usual, _ := s.tries(start[0])
	runs := s.made(start)
	return len(runs) > 0 && s.lacks(runs, usual, 2*s.Runner.restTime())
}

// lacks reports whether there is no time to make runs together so many times, and for that rest.
func (s *Session) lacks(start []matrix.Run, times int, rest time.Duration) bool {
	if s.Until.IsZero() {
		return false
	}
	takes := max(s.Runner.Opt.startLength(start)+overhead, s.longest)*time.Duration(times) + rest
	return time.Until(s.Until) < takes
}

// outOfTime returns an error if runs of the plan were not made.
func (s *Session) outOfTime() error {
	if s.unmade == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s not made", ErrTime, counted(s.unmade, "run was", "runs were"))
}
