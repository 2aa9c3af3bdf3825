// SPDX-License-Identifier: MIT

package judge

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

func flowing(gbps ...float64) results.Record {
	r := ok(10)
	r.Cell.Flows = len(gbps)
	for _, v := range gbps {
		r.SUT.Flows = append(r.SUT.Flows, results.Flow{ThroughputGbps: ptr(v)})
	}
	return r
}

// Flows that are not alike flag a run, and make it invalid where a file asks for fairness.
func TestFairness(t *testing.T) {
	var fifteen []float64
	for range 15 {
		fifteen = append(fifteen, 10)
	}
	asked := func(limit float64) (g plan.Gates) {
		g.Fairness = &limit
		g.Ask(plan.FairnessGate, true)
		return g
	}
	for _, c := range []struct {
		name  string
		gates plan.Gates
		gbps  []float64
		flags []string
		says  string // of the first
	}{
		{"even", plan.DefaultGates(), []float64{10, 10.1, 9.9, 10}, nil, ""},
		{"one flow", plan.DefaultGates(), []float64{10}, nil, ""},
		{"one has twice the other's", plan.DefaultGates(), []float64{10, 20}, nil, ""},
		{"and a little more", plan.DefaultGates(), []float64{10, 20.5}, []string{"unfair"},
			"the 2 flows are unfair: 10.00 to 20.50 Gbit/s, Jain's index 0.894 (limit 0.9)"},
		{"one of two starves", plan.DefaultGates(), []float64{.5, 19.5}, []string{"unfair", "starved-flow"},
			"the 2 flows are unfair"},
		{"one of sixteen starves", plan.DefaultGates(), append(slices.Clone(fifteen), .9), []string{"starved-flow"},
			"flow 15 starved: 0.900 Gbit/s, while the fair share of 16 flows is 9.43"},
		{"it has a tenth of its share", plan.DefaultGates(), append(slices.Clone(fifteen), 1), nil, ""},
		{"asked for", asked(.9), []float64{10, 20.5}, nil, "the 2 flows are unfair"},
		{"asked for more", asked(.99), []float64{10, 14}, nil, "Jain's index 0.973 (limit 0.99)"},
		{"asked for, starved", asked(.9), append(slices.Clone(fifteen), .9), nil, "flow 15 starved"},
		{"asked for, and fair", asked(.9), []float64{10, 20}, nil, ""},
		{"off", plan.Gates{}, []float64{.5, 19.5}, nil, ""},
	} {
		r := flowing(c.gbps...)
		Run(c.gates, &r)
		if c.gates.Asks(plan.FairnessGate) {
			if bad := c.says != ""; (r.Verdict == results.Invalid) != bad || !strings.Contains(r.Reason, c.says) ||
				bad && (r.Fix == "" || r.Gate != plan.ByOutcome) || len(r.Flags) > 0 {
				t.Errorf("%s: %s %q %q, flags %q", c.name, r.Verdict, r.Reason, r.Gate, r.Flags)
			}
			continue
		}
		if r.Verdict != results.OK || !slices.Equal(r.Flags, c.flags) || !slices.Equal(r.Flagged(), c.flags) ||
			len(r.Warnings) != len(c.flags) {
			t.Errorf("%s: %s, flags %q of %q, warnings %q", c.name, r.Verdict, r.Flags, r.Flagged(), r.Warnings)
		}
		if len(c.flags) > 0 && !strings.Contains(r.Warnings[0], c.says) {
			t.Errorf("%s: %q, want %q", c.name, r.Warnings[0], c.says)
		}
	}
}
