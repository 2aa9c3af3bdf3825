// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"time"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
)

// planOnce keeps a cell that cannot run once in the plan, as no warm-up: it is
// recorded, not repeated.
func planOnce(plan []matrix.Run, missing func(plan.Cell) *Missing) []matrix.Run {
	var out []matrix.Run
	for _, p := range plan {
		switch {
		case missing(p.Cell) == nil:
			out = append(out, p)
		case p.Rep == 0 && !p.Warmup:
			out = append(out, p)
		}
	}
	return out
}

// newSession names a session after the time, to the millisecond, in UTC.
func newSession() string {
	now := time.Now().UTC()
	return fmt.Sprintf("%s%03d", now.Format("20060102-150405"), now.Nanosecond()/1e6)
}
