// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// throttled: no control group held an end back.
func throttled(g plan.Gates, r *results.Record) *failure {
	if g.Throttled == nil {
		return nil
	}
	for _, role := range ends.Roles {
		if share, words := HeldBack(r.Host(role)); share > *g.Throttled {
			return &failure{"throttled", fmt.Sprintf("%s: %s", role.Label(), words),
				"run outside of that cgroup, or start its container, service or job without that limit (docker: " +
					"without --cpus; Kubernetes: no limits.cpu; systemd: no CPUQuota= or MemoryHigh=); to " +
					"measure within the limit, let such runs count: gates.throttled: off"}
		}
	}
	return nil
}

// blameCgroup adds to the reason of a run that something else on the hosts spoilt, such as one
// whose window was read late, that a control group held an end back: that is why.
func blameCgroup(g plan.Gates, r *results.Record) {
	if r.FailedGate() != plan.ByEnvironment {
		return
	}
	if f := throttled(g, r); f != nil && !strings.Contains(r.Reason, f.reason) {
		r.Fail(plan.ByEnvironment, f.reason+"; "+r.Reason, f.fix)
	}
}
