// SPDX-License-Identifier: MIT

package plan

import (
	"slices"

	"github.com/zcbench/zcbench/power"
)

// Limit is a gate's limit: a field of [Gates]. Its key in experiment files, its default, its
// line in reports and its row in docs/matrix.md follow from this; package judge judges by it.
type Limit struct {
	Key     string
	Class   GateClass
	Name    string  // in reports
	Default float64 // 0: off
	Share   bool    // a fraction, shown as percent
	Unit    string  // in reports, behind the number
	Judged  string  // of what, and how
	At      func(*Gates) **float64
}

// Marks reports whether the limit only flags the runs beyond it, which then count, unless it was
// asked for by name.
func (l Limit) Marks() bool { return l.Class == ByOutcome }

// Limits are those of all gates.
var Limits = []Limit{
	{"throughput_cv", ByOutcome, "CV of the throughput", .02, true, "", "cell: standard deviation / mean, from 3 runs",
		func(g *Gates) **float64 { return &g.ThroughputCV }},
	{"cpu_cv", ByOutcome, "CV of the busy cores", .03, true, "", "cell: the same for the busy cores of either end",
		func(g *Gates) **float64 { return &g.CPUCV }},
	{"drift", ByOutcome, "drift over the runs", .02, true, "", "cell, from 6 runs: Spearman's rank correlation " +
		"with run order is significant (p < 0.05), and the medians of the first and the second half differ by " +
		"more than this",
		func(g *Gates) **float64 { return &g.Drift }},
	{FrequencyGate, ByOutcome, "distance of the CPU frequency from the cell's median", .02, true, "",
		"run, from 3 runs of the cell: distance of the flow's CPU frequency from the cell's median, where it is " +
			"measured; such a run is flagged and counts, also where the limit is named; comparison: off asks " +
			"nothing of the two cells' frequencies (docs/statistics.md)",
		func(g *Gates) **float64 { return &g.Frequency }},
	{"temperature_c", ByOutcome, "spread of the CPU temperature", 10, false, " K",
		"cell: range of the CPU temperature in kelvin, where it can be read",
		func(g *Gates) **float64 { return &g.TemperatureC }},
	{"retrans_per_gb", ByOutcome, "retransmitted segments", 10, false, " per GB",
		"run: retransmitted segments per 1e9 bytes",
		func(g *Gates) **float64 { return &g.RetransPerGB }},
	{"drops_per_gb", ByOutcome, "dropped packets", 10, false, " per GB",
		"run: packets dropped by the receiver's interface and softnet",
		func(g *Gates) **float64 { return &g.DropsPerGB }},
	{"coverage", ByOutcome, "coverage of /proc/stat", 0, true, " from 1",
		"run: distance of stat_coverage from 1 (docs/schema.md)",
		func(g *Gates) **float64 { return &g.Coverage }},
	{"foreign_cores", ByEnvironment, "foreign load", .05, false, " cores", "run: load on a CPU of the flow's, " +
		"or of the same core as one, that is certainly not the benchmark's; where only ticks tell, beyond the " +
		"uncertainty of the window",
		func(g *Gates) **float64 { return &g.ForeignCores }},
	{"throttled", ByEnvironment, "held back by a cgroup", .001, true, "", "run: share of the periods of a " +
		"cgroup's CPU limit (cpu.max; version 1: cpu.cfs_quota_us) in which it throttled, of the cgroups of " +
		"either end and all above them; where memory.high was met, share of the window in which tasks waited for " +
		"memory, and where the kernel does not count that (PSI), any; where cgroups above a container are not " +
		"seen, share of the window in which a thread could run and its CPU was idle (`cgroup_unseen_held_share`)",
		func(g *Gates) **float64 { return &g.Throttled }},
	{IdleDriftGate, ByOutcome, "drift of the idle power", .02, true, "", "run: difference of idle power " +
		"before and after the run, relative to their mean (docs/power.md)",
		func(g *Gates) **float64 { return &g.IdleDrift }},
	{"counters", ByOutcome, "cost of zcbench's own counters", .01, true, "",
		"run: CPU time of the sampler in the window, relative to that of the measured CPUs",
		func(g *Gates) **float64 { return &g.Counters }},
	{"copied", ByProof, "copied by a zero-copy mode", .01, true, "",
		"run: share of the payload that a zero-copy mode copied",
		func(g *Gates) **float64 { return &g.Copied }},
	{FairnessGate, ByOutcome, "Jain's index of the flows", fairJain, true, "", "run of several flows: Jain's " +
		"index of their throughput is below this (`unfair`), or a flow has less than 10 % of its fair share " +
		"(`starved-flow`)",
		func(g *Gates) **float64 { return &g.Fairness }},
}

// Least reports whether the limit is a minimum; all others are maxima.
func (l *Limit) Least() bool { return l.Key == FairnessGate }

// Flags lists the flags of runs that are beyond the limit and count.
func (l *Limit) Flags() []string {
	switch l.Key {
	case FairnessGate:
		return []string{FlagUnfair, FlagStarved}
	case IdleDriftGate:
		return []string{power.FlagIdleDrift}
	}
	return []string{l.Key}
}

// GateOf returns the key of the gate that sets a flag on runs that count.
func GateOf(flag string) string {
	for i := range Limits {
		if slices.Contains(Limits[i].Flags(), flag) {
			return Limits[i].Key
		}
	}
	return flag // of a gate without a number
}

// DefaultGates have every limit that is not off.
func DefaultGates() (g Gates) {
	for _, l := range Limits {
		if l.Default > 0 {
			*l.At(&g) = new(l.Default)
		}
	}
	return g
}
