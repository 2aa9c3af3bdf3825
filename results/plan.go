// SPDX-License-Identifier: MIT

package results

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/machine/measure"
)

// Plan is what a journal of an experiment file says about where its runs come
// from. It is in the journal's header.
type Plan struct {
	Name        string      `json:"name"`
	Hash        string      `json:"hash"` // SHA-256 of all that decides what is run, and in which order
	Seed        uint64      `json:"seed"` // of the order
	Repetitions int         `json:"repetitions"`
	Binary      string      `json:"binary"` // SHA-256 of the program
	SUT         measure.Env `json:"sut"`    // the hosts as they were at the start
	TG          measure.Env `json:"tg"`

	Power *PowerPlan `json:"power,omitempty"` // nil: a journal of an older version, which does not say

	Gates    Gates `json:"gates"`
	Baseline *Cell `json:"baseline,omitempty"` // the cell to compare the others with
	// Primary are the ids of the cells whose comparisons with the baseline were declared to
	// count before there were any figures. None: all do.
	Primary []string `json:"primary,omitempty"`
	// About are the factors that comparisons were declared to be about. None: all.
	About []string `json:"about,omitempty"`
	// BetweenBoots is the spread of a figure between boots of the hosts that was declared,
	// as a standard deviation over the mean. 0: none was.
	BetweenBoots float64 `json:"between_boots,omitempty"`
	File         string  `json:"file"` // the experiment file's text

	// Played is the plan as it was played, whatever file and flags it came from, so that it can
	// be again (bench/matrix); nil: a journal of an older version.
	Played json.RawMessage `json:"played,omitempty"`
}

// PowerPlan is how power is measured beside the runs. It decides about them too:
// the guard lengthens their ramps, and the hosts rest after each.
type PowerPlan struct {
	// as they were asked for, without secrets; the first is the primary one; none: power is not
	// measured
	Sources   []string `json:"sources,omitempty"`
	IntervalS float64  `json:"interval_s,omitempty"` // between two readings
	IdleS     float64  `json:"idle_s,omitempty"`     // of rest that is measured after each run
	GuardS    float64  `json:"guard_s,omitempty"`    // of load on both sides of the window, and of rest before IdleS
}

// String formats the plan, "not measured" without sources.
func (p *PowerPlan) String() string {
	if len(p.Sources) == 0 {
		return "not measured"
	}
	return fmt.Sprintf("%s, every %g s, idle %g s, guard %g s", strings.Join(p.Sources, ", "), p.IntervalS, p.IdleS,
		p.GuardS)
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
	// runs out. Replace is how often a run that something else spoilt is made again; nil:
	// [DefaultReplace].
	Asked []string `json:"asked,omitempty"`
	// IgnoreInert: nobody wants to know which options did not act.
	IgnoreInert bool `json:"ignore_inert,omitempty"`
	Replace     *int `json:"replace,omitempty"`
}
