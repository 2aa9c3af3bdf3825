// SPDX-License-Identifier: MIT

package judge

import (
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// A run whose option did not act is flagged and counts; who asks for a gate gets one.
func TestInert(t *testing.T) {
	run := func(g plan.Gates) results.Record {
		r := ok(10)
		r.Cell.BigTCPBytes = 131072
		r.SUT.Metrics = []measure.Metric{{Name: measure.MetricRXPacketBytes, Value: 65100}}
		Run(g, &r)
		return r
	}
	if r := run(plan.DefaultGates()); r.Verdict != results.OK || len(r.Flagged()) != 1 ||
		r.Flagged()[0] != "inert-big_tcp" || len(r.Warnings) != 1 {
		t.Errorf("%s, flagged %q, warnings %q", r.Verdict, r.Flagged(), r.Warnings)
	}
	var asked plan.Gates
	asked.Ask(plan.ActedGate, true)
	if r := run(asked); r.Verdict != results.Invalid || r.Gate != plan.ByOutcome || r.Reason == "" || r.Fix == "" {
		t.Errorf("%+v", r)
	}
	if r := run(plan.Gates{IgnoreInert: true}); r.Verdict != results.OK || len(r.Flags) > 0 {
		t.Errorf("%+v", r)
	}
}
