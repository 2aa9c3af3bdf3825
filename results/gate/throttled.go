// SPDX-License-Identifier: MIT

package gate

import (
	"fmt"

	"github.com/zcbench/zcbench/results"
)

// throttled: no control group held an end back.
func throttled(g results.Gates, r *results.Record) *failure {
	if g.Throttled == nil {
		return nil
	}
	for _, role := range results.Roles {
		if share, words := r.Host(role).HeldBack(); share > *g.Throttled {
			return &failure{"throttled", fmt.Sprintf("%s: %s", role.Label(), words),
				"run outside of that cgroup, or start its container, service or job without that limit (docker: without --cpus; Kubernetes: no limits.cpu; systemd: no CPUQuota= or MemoryHigh=); to measure within the limit, let such runs count: gates.throttled: off"}
		}
	}
	return nil
}
