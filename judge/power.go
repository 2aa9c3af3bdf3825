// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
)

// idleDrift: the machine drew the same at rest before and after the run. If it did not,
// something else than the flow changed meanwhile, and what of the load's power is the
// flow's is not known. The run itself may have changed it, by its heat: so it is an outcome.
func idleDrift(g plan.Gates, r *results.Record) *failure {
	if g.IdleDrift == nil {
		return nil
	}
	for _, role := range ends.Roles {
		if d := r.Host(role).PowerIdleDrift; d != nil && *d > *g.IdleDrift {
			return &failure{power.FlagIdleDrift,
				fmt.Sprintf("%s: idle power before and after the run differs by %.1f %% (limit %g %%)", role.Label(),
					100**d, 100**g.IdleDrift),
				"let the host settle: a longer --power-guard, warm-up runs, fans at a fixed speed, no other work"}
		}
	}
	return nil
}
