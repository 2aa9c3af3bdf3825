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

// outOfTime returns an error if runs of the plan were not made.
func (s *Session) outOfTime() error {
	if s.unmade == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s not made", ErrTime, counted(s.unmade, "run was", "runs were"))
}
