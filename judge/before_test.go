// SPDX-License-Identifier: MIT

package judge

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// Runs that an earlier version left out for their clock count, and those in their place do not;
// what others' load spoilt is as it was.
func TestUnselect(t *testing.T) {
	const slow = "SUT: the CPU frequency is 2400 MHz, that of the cell's runs 3000 MHz (median; limit 2 %)"
	recs := []results.Record{
		{RunID: "slow", Rep: 1}, {RunID: "instead", Rep: 1, Verdict: results.OK},
		{RunID: "well", Rep: 2, Verdict: results.OK},
		{RunID: "loaded", Rep: 3}, {RunID: "again", Rep: 3, Verdict: results.OK},
		{RunID: "loaded and slow", Rep: 4}, {RunID: "then slow", Rep: 4}, {RunID: "slow twice", Rep: 4},
		{RunID: "asked for", Rep: 5},
	}
	for i := range recs {
		switch r := &recs[i]; r.RunID {
		case "slow", "then slow", "slow twice":
			r.Fail(plan.ByEnvironment, slow, "fix the clock")
		case "loaded", "loaded and slow":
			r.Fail(plan.ByEnvironment, "foreign load", "")
		case "asked for":
			r.Fail(plan.ByOutcome, "drift", "")
		}
	}
	for range 2 {
		Settle(recs)
		var count []string
		for _, r := range recs {
			if r.Verdict == results.OK {
				count = append(count, r.RunID)
			}
		}
		if want := []string{"slow", "well", "again", "then slow"}; !slices.Equal(count, want) {
			t.Errorf("%q count, want %q", count, want)
		}
	}
	if r := &recs[0]; !slices.Equal(r.Flags, []string{plan.FrequencyGate}) || len(r.Warnings) != 1 || r.Fix != "" {
		t.Errorf("%+v", r)
	}
	if r := &recs[1]; r.FailedGate() != plan.ByEnvironment || r.Reason == "" {
		t.Errorf("%+v", r)
	}
}
