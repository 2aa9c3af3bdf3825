// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/results"
)

// countFlows makes a run failed that both ends call well, and of which one tells of another
// number of flows than it was asked for.
func countFlows(rec *results.Record) {
	want := rec.Cell.NFlows()
	for _, role := range ends.Roles {
		n := len(rec.Host(role).Flows)
		if rec.Verdict != results.OK || n == want || n == 0 && want == 1 {
			continue
		}
		distrust(rec, role.Label(), &fault.NonsenseError{Err: fmt.Errorf("figures of %d flows, but %d were requested",
			n, want),
			How: "the agent is not the one the controller started, or this is a bug of zcbench: please report it"})
	}
}
