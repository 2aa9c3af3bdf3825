// SPDX-License-Identifier: MIT

package gate

import (
	"fmt"
	"math"
	"strings"

	"github.com/zcbench/zcbench/results"
)

// failure is a gate that did not hold.
type failure struct{ reason, fix string }

// Run judges one run by the gates that need no other: retransmits, drops, coverage,
// foreign load, what limited it and the drift of the idle power. A run that is not ok, and
// a warm-up, are left as they are. The zero-copy gate (g.Copied) is judged by the ends
// themselves.
func Run(g results.Gates, r *results.Record) {
	if r.Verdict != results.OK || r.Warmup {
		return
	}
	for _, check := range []func(results.Gates, *results.Record) *failure{retrans, drops, coverage, foreign, limit, idleDrift} {
		if f := check(g, r); f != nil {
			r.Verdict, r.Reason, r.Fix = results.Invalid, f.reason, f.fix
			return
		}
	}
}

func retrans(g results.Gates, r *results.Record) *failure {
	return perGB("retransmitted segments", g.RetransPerGB, r.TG.Retrans, r.TG.Bytes,
		"look for drops on the path (ethtool -S, nstat), or allow more with gates.retrans_per_gb")
}

func drops(g results.Gates, r *results.Record) *failure {
	return perGB("packets dropped by the receiver", g.DropsPerGB, r.SUT.RXDrops, r.SUT.Bytes,
		"raise the RX ring or net.core.netdev_max_backlog, or allow more with gates.drops_per_gb")
}

func perGB(what string, limit *float64, n, bytes *uint64, fix string) *failure {
	if limit == nil || n == nil || bytes == nil || *bytes == 0 {
		return nil
	}
	if rate := float64(*n) / (float64(*bytes) / 1e9); rate > *limit {
		return &failure{fmt.Sprintf("%.2f %s per GB (limit %g)", rate, what, *limit), fix}
	}
	return nil
}

func coverage(g results.Gates, r *results.Record) *failure {
	if g.Coverage == nil {
		return nil
	}
	for _, role := range results.Roles {
		if c := r.Host(role).StatCoverage; c != nil && math.Abs(*c-1) > *g.Coverage {
			return &failure{fmt.Sprintf("%s: the /proc/stat columns cover %.3f of the time (limit 1 +- %g)", role.Label(), *c, *g.Coverage),
				"measure longer, or boot without nohz_full; busy cores do not depend on it: gates.coverage: off"}
		}
	}
	return nil
}

func foreign(g results.Gates, r *results.Record) *failure {
	if g.ForeignCores == nil {
		return nil
	}
	for _, role := range results.Roles {
		for _, m := range r.Host(role).Metrics {
			if m.Name == results.MetricForeignCores && m.Value > *g.ForeignCores {
				return &failure{fmt.Sprintf("%s: foreign load %.2f cores on CPU %s (limit %g)", role.Label(), m.Value, strings.Join(m.Of, ""), *g.ForeignCores),
					"end other work, or keep it off that CPU (isolcpus, cpusets)"}
			}
		}
	}
	return nil
}

func limit(g results.Gates, r *results.Record) *failure {
	if g.Limit == "" || r.Limit == g.Limit {
		return nil
	}
	const fix = "give the other end more: another send mode, larger messages (--message-size), hardware GSO, BIG TCP, a layout with two CPUs; or gates.limit: off"
	if r.Limit == "" {
		return &failure{"it is not known what limited it, and the limit must be " + string(g.Limit), "measure longer, with both ends pinned; or gates.limit: off"}
	}
	return &failure{fmt.Sprintf("limited by the %s, and the limit must be the %s", r.Limit, g.Limit), fix}
}
