// SPDX-License-Identifier: MIT

package judge

import (
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// inert: what the cell asks for acted. Else the run is flagged: its figures are right, and say
// nothing of that option.
func inert(g plan.Gates, r *results.Record) {
	if g.IgnoreInert {
		return
	}
	for _, i := range r.Inert() {
		switch {
		case r.Verdict != results.OK:
		case g.Asks(plan.ActedGate):
			r.Fail(plan.ByOutcome, i.Reason, i.Fix)
		default:
			r.Mark(i.Flag(), i.Reason)
		}
	}
}
