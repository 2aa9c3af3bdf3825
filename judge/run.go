// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"
	"math"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// failure is a limit that a run is beyond, by the flag of runs that count all the same.
type failure struct{ flag, reason, fix string }

// Run judges one run by the [rules] that need no other: first those of the environment, which leave
// it out, then those of the outcome, which flag it, or leave it out where that was asked for, and
// last those that flag it alone. A run that is not ok, and a warm-up, are left as they are, but
// that a cgroup is named as why a run was spoilt; of a calibration's run only what left it out is
// asked, because shares of a pace are of it, and so of a search's trial. Proofs (g.Copied among
// them) are judged by the ends themselves.
func Run(g plan.Gates, r *results.Record) {
	blameCgroup(g, r)
	if r.Verdict != results.OK || r.Warmup && !r.Calibrates() && !r.Tries() {
		return
	}
	for _, rule := range rules {
		switch {
		case rule.run != nil && rule.Class == plan.ByEnvironment:
			if f := rule.run(g, r); f != nil {
				r.Fail(plan.ByEnvironment, f.reason, f.fix)
				return
			}
		case r.Warmup:
		case rule.run != nil:
			if f := rule.run(g, r); f != nil {
				outcome(g, f, r)
			}
		case rule.mark != nil:
			rule.mark(g, r)
		}
	}
}

// outcome flags runs that count, or leaves them out where the limit was asked for.
func outcome(g plan.Gates, f *failure, runs ...*results.Record) {
	for _, r := range runs {
		switch {
		case r.Verdict != results.OK:
		case g.Asks(plan.GateOf(f.flag)):
			r.Fail(plan.ByOutcome, f.reason, f.fix)
		default:
			r.Mark(f.flag, f.reason)
		}
	}
}

func retrans(g plan.Gates, r *results.Record) *failure {
	if trips(r) {
		return nil // its bytes are few: one segment would be thousands per GB
	}
	return perGB("retrans_per_gb", "retransmitted segments", g.RetransPerGB, r.TG.Retrans, ofAllTurns(r, &r.TG),
		"look for drops on the path (ethtool -S, nstat), or allow more with gates.retrans_per_gb")
}

// ofAllTurns returns the bytes that counters of the window go with: TCP_INFO is of all its turns,
// and a run's bytes are of those that count.
func ofAllTurns(r *results.Record, h *results.Host) *uint64 {
	if r.Turns == nil || h.Bytes == nil {
		return h.Bytes
	}
	all, left := float64(r.Turns.Turns), h.Value("turns_left_out")
	if !(left > 0) || left >= all {
		return h.Bytes
	}
	return new(uint64(float64(*h.Bytes) * all / (all - left)))
}

func drops(g plan.Gates, r *results.Record) *failure {
	if trips(r) || r.Cell.MovesPackets() { // of the latter what was lost is a figure
		return nil
	}
	const key, what = "drops_per_gb", "packets dropped by the receiver"
	fix := "raise the RX ring or net.core.netdev_max_backlog, or allow more with gates.drops_per_gb"
	if r.SUT.RXDrops != nil || r.Turns == nil {
		return perGB(key, what, g.DropsPerGB, r.SUT.RXDrops, r.SUT.Bytes, fix)
	}
	return dropsOfAll(g, r, key, what, fix)
}

// dropsOfAll judges a run by what was dropped in the turns of all, where it is not known in whose:
// together they were beyond the limit, so that one of them was. A limit that was asked for must be
// kept for sure: also if all was dropped in this run's turns.
func dropsOfAll(g plan.Gates, r *results.Record, key, what, fix string) *failure {
	dropped, bytes := r.SUT.Value(measure.MetricAllTurnsDropped), r.SUT.Value(measure.MetricAllTurnsBytes)
	if !(dropped > 0) {
		return nil
	}
	n := new(uint64(dropped))
	if bytes > 0 {
		if f := perGB(key, what+" in the turns of all, it is not known in whose,", g.DropsPerGB, n, new(uint64(bytes)),
			fix); f != nil {
			return f
		}
	}
	if !g.Asks(key) {
		return nil
	}
	return perGB(key, what+" if all were in this run's turns, which is not known,", g.DropsPerGB, n, r.SUT.Bytes,
		fix+", or use order: blocks, which tells whose they were")
}

func perGB(key, what string, limit *float64, n, bytes *uint64, fix string) *failure {
	if limit == nil || n == nil || bytes == nil || *bytes == 0 {
		return nil
	}
	if rate := float64(*n) / (float64(*bytes) / 1e9); rate > *limit {
		return &failure{key, fmt.Sprintf("%.2f %s per GB (limit %g)", rate, what, *limit), fix}
	}
	return nil
}

func coverage(g plan.Gates, r *results.Record) *failure {
	if g.Coverage == nil {
		return nil
	}
	for _, role := range ends.Roles {
		if c := r.Host(role).StatCoverage; c != nil && math.Abs(*c-1) > *g.Coverage {
			return &failure{"coverage", fmt.Sprintf("%s: the /proc/stat columns cover %.3f of the time (limit 1 +- %g)",
				role.Label(), *c, *g.Coverage),
				"measure longer, or boot without nohz_full; busy cores do not depend on it: gates.coverage: off"}
		}
	}
	return nil
}

func limit(g plan.Gates, r *results.Record) *failure {
	kept := r.Cell.PaceRate() > 0 && r.Limit == plan.ByPace // as it was asked to
	if g.Limit == "" || r.Limit == g.Limit || kept || trips(r) {
		return nil
	}
	f := &failure{plan.LimitGate, fmt.Sprintf("limited by %s, but the limit must be %s", r.Limit.Name(),
		g.Limit.Name()),
		"relieve the other end: another send mode, larger messages (--message-size), hardware GSO, BIG TCP, a " +
			"layout with two CPUs; or gates.limit: off"}
	switch r.Limit {
	case plan.ByOneCPU:
		f.fix = "give the receiver's softirq its thread's CPU (cpu_layout: 1cpu), or one of its own (2cpu), and each " +
			"thread a CPU; or gates.limit: off"
	case "":
		f.reason, f.fix = "unknown what limited it, but the limit must be "+g.Limit.Name(),
			"measure longer, with both ends pinned; or gates.limit: off"
	}
	return f
}

// trips reports whether a run makes round trips, and so is not made for its payload: by its cell,
// whatever its ends say.
func trips(r *results.Record) bool { return r.Cell.RoundTrips() }
