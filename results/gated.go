// SPDX-License-Identifier: MIT

package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/plan"
)

// BlockSpoilt begins the reason of a run that does not count because its block was made again:
// something else on the hosts spoilt another one of it, which the reason goes on to name.
const BlockSpoilt = "its block was made again, because something else spoilt another run of it"

// FailedGate returns the class of the gate that an invalid run failed; "" if the run is not
// invalid. Records of older versions do not say: whatever was not spoilt then counts as
// [plan.ByProof].
func (r *Record) FailedGate() plan.GateClass {
	switch {
	case r.Verdict != Invalid:
		return ""
	case slices.Contains(plan.GateClasses, r.Gate):
		return r.Gate
	case slices.Contains(r.Flags, FlagDisturbed):
		return plan.ByEnvironment
	}
	return plan.ByProof
}

// Spoilt reports whether something else on the hosts spoilt a run that would otherwise count, or
// calibrate the pace.
func (r *Record) Spoilt() bool {
	return (!r.Warmup || r.Calibrates()) && r.FailedGate() == plan.ByEnvironment
}

// LeftOut reports whether a run did what its cell says but does not count: if there are many, the
// reader should ask why.
func (r *Record) LeftOut() bool {
	c := r.FailedGate()
	return !r.Warmup && (c == plan.ByEnvironment || c == plan.ByOutcome)
}

// Starved reports whether a run ended because the NIC found no buffer for its payload, which the
// receivers that take queues over say so.
func (r *Record) Starved() bool {
	return r.Verdict == Failed && strings.Contains(r.Reason, "starved: ")
}

// Fail makes a run invalid.
func (r *Record) Fail(by plan.GateClass, reason, fix string) {
	r.Verdict, r.Gate, r.Reason, r.Fix = Invalid, by, reason, fix
}

// Mark flags a run that counts.
func (r *Record) Mark(flag, warning string) {
	if !slices.Contains(r.Flags, flag) {
		r.Flags = append(slices.Clip(r.Flags), flag)
	}
	if !slices.Contains(r.Warnings, warning) {
		r.Warnings = append(slices.Clip(r.Warnings), warning)
	}
}

// InertOptions lists the options that, by the record's flags, had no effect.
func (r *Record) InertOptions() (names []string) {
	for _, f := range r.Flags {
		if name, ok := strings.CutPrefix(f, FlagInert); ok {
			names = append(names, name)
		}
	}
	return names
}

// Flagged lists the gates whose limits a counted run exceeds, or that could not judge it, and, as
// inert-OPTION, the run's options that had no effect.
func (r *Record) Flagged() (keys []string) {
	for _, flag := range []string{FlagCPUMissing, FlagForeignUnknown} {
		if slices.Contains(r.Flags, flag) {
			keys = append(keys, flag)
		}
	}
	for _, l := range plan.Limits {
		for _, flag := range l.Flags() {
			if l.Marks() && slices.Contains(r.Flags, flag) {
				keys = append(keys, flag)
			}
		}
	}
	for _, name := range r.InertOptions() {
		keys = append(keys, FlagInert+name)
	}
	return keys
}

func readGate(s string) (plan.GateClass, error) {
	if c := plan.GateClass(s); s == "" || slices.Contains(plan.GateClasses, c) {
		return c, nil
	}
	return "", fmt.Errorf("%q is not a class of gates: want one of %v", s, plan.GateClasses)
}
