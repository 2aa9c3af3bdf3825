// SPDX-License-Identifier: MIT

package plan

import "slices"

// FairnessGate is the key of the gate of fairness, and these are the flags of runs beyond it.
const (
	FairnessGate = "fairness"
	FlagUnfair   = "unfair"       // Jain's index is below the gate's limit
	FlagStarved  = "starved-flow" // a flow had less than StarvedShare of its fair share
)

// fairJain is Jain's index below which flows are called unfair, unless a file asks for another:
// of two flows, one has more than twice the other's throughput. StarvedShare is the part of its
// fair share, the sum over the number of flows, below which a flow starves.
const (
	fairJain     = .9
	StarvedShare = .1
)

// GateClass is the kind of gate that a run did not pass, and with it what becomes of the run.
type GateClass string

// The classes of gates.
const (
	// ByProof: the run was not what its cell says. It is invalid, and made no further.
	ByProof GateClass = "proof"
	// ByEnvironment: something else on the hosts spoilt it. It is invalid, as is all of its
	// block, which is made again. What a run itself does, such as how fast its CPUs ran, is never
	// that.
	ByEnvironment GateClass = "environment"
	// ByOutcome: what was measured is not as one may wish. To leave such runs out would be
	// to choose the results: they are flagged and count, unless somebody asked for a gate.
	ByOutcome GateClass = "outcome"
)

// GateClasses are all of them, in the order of docs.
var GateClasses = []GateClass{ByProof, ByEnvironment, ByOutcome}

// DefaultReplace is how often a block is made again of which something else spoilt a run.
const DefaultReplace = 2

// Replacements returns how often a block is repeated.
func (g *Gates) Replacements() int {
	if g.Replace == nil {
		return DefaultReplace
	}
	return *g.Replace
}

// Asks reports whether a limit was asked for by name, so that a run beyond it is left out although
// it is an outcome. The gate of what limits runs always counts as asked for, and that of the CPUs'
// frequency never: whose slow runs are left out seems fast.
func (g *Gates) Asks(key string) bool {
	return key != FrequencyGate && (key == LimitGate || slices.Contains(g.Asked, key))
}

// Keys of gates without a number: of what limits runs, and of options that did not act.
const (
	LimitGate = "limit"
	ActedGate = "acted"
)

// FrequencyGate is the key of the limit for the CPUs' frequency, which only flags.
const FrequencyGate = "frequency"

// IdleDriftGate is the key of the limit for idle power before and after a run. A run beyond it
// counts, with the mark [power.FlagIdleDrift].
const IdleDriftGate = "idle_drift"

// Ask makes the limit of that name one that was asked for, or, off, no longer.
func (g *Gates) Ask(key string, asked bool) {
	g.Asked = slices.DeleteFunc(slices.Clone(g.Asked), func(k string) bool { return k == key })
	if asked {
		g.Asked = append(g.Asked, key)
		slices.Sort(g.Asked)
	}
}

// Gates are the limits that decide whether runs are worth believing, by their class
// ([GateClass]). Nil does not look. What was not measured fails no gate.
type Gates struct {
	// Of all runs of a cell.
	ThroughputCV *float64 `json:"throughput_cv,omitempty"` // standard deviation / mean of the throughput
	CPUCV        *float64 `json:"cpu_cv,omitempty"`        // of the busy cores of either end
	// trend of the throughput over the runs, as a fraction of the median
	Drift *float64 `json:"drift,omitempty"`
	// distance of a run's CPU frequency from the median of the cell's runs, fraction of that
	Frequency    *float64 `json:"frequency,omitempty"`
	TemperatureC *float64 `json:"temperature_c,omitempty"` // spread of the CPU temperature over the runs, kelvin

	// Of one run.
	RetransPerGB *float64 `json:"retrans_per_gb,omitempty"` // segments sent again per 1e9 bytes
	DropsPerGB   *float64 `json:"drops_per_gb,omitempty"`   // packets dropped by the receiver per 1e9 bytes
	Coverage     *float64 `json:"coverage,omitempty"`       // least distance of stat_coverage from 1 that is too much
	ForeignCores *float64 `json:"foreign_cores,omitempty"`  // load that is surely not the benchmark's, on one CPU
	// share of a CPU limit's periods in which it throttled, or of the window spent waiting for
	// memory
	Throttled *float64 `json:"throttled,omitempty"`
	IdleDrift *float64 `json:"idle_drift,omitempty"` // of the idle power, between before and after
	// share of the measured CPU time that zcbench's own sampler took
	Counters *float64 `json:"counters,omitempty"`
	Copied   *float64 `json:"copied,omitempty"`   // share of the payload that a zero-copy mode may copy
	Fairness *float64 `json:"fairness,omitempty"` // least that Jain's index of several flows may be

	// Limit is what every run must be limited by; "" asks nothing. A run of which it is not
	// known fails it.
	Limit LimitedBy `json:"limit,omitempty"`

	// Asked are the keys of the limits that somebody named: of outcomes, only these leave
	// runs out. Replace is how often a block is made again of which something else spoilt a run;
	// nil: [DefaultReplace].
	Asked []string `json:"asked,omitempty"`
	// IgnoreInert: nobody wants to know which options did not act.
	IgnoreInert bool `json:"ignore_inert,omitempty"`
	Replace     *int `json:"replace,omitempty"`
}
