// SPDX-License-Identifier: MIT

package judge

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/plantest"
	"github.com/zcbench/zcbench/results/report"
)

// One row in rules adds a rule, by its class: it leaves a run out with its words, which reach the
// report; flags one that counts, also where its gate of a whole cell is broken; and is in the list
// that `zcbench explain` reads.
func TestOneLineAddsARule(t *testing.T) {
	before := rules
	defer func() { rules = before }()
	const reason, fix = "the moon was full", "wait for two weeks"
	full := func(r *results.Record) bool { return *r.SUT.ThroughputGbps > 25 }
	add := func(r rule) { rules = append(before[:len(before):len(before)], r) }
	asRule := func(_ plan.Gates, r *results.Record) *failure {
		if !full(r) {
			return nil
		}
		return &failure{"moon", reason, fix}
	}
	judged := func() (recs []results.Record) {
		recs = plantest.Journal(7, 8, plantest.Cell{Cell: plantest.Modes("tcp", "tcp"), Gbps: 20, Cores: 1},
			plantest.Cell{Cell: plantest.Modes("uring", "tcp"), Gbps: 30, Cores: 1}).Records
		for i := range recs {
			Run(plan.Gates{}, &recs[i])
		}
		return recs
	}

	add(rule{Name: "moon", Looks: "the moon", Class: plan.ByEnvironment, run: asRule})
	if all := Rules(); all[len(all)-1] != (Asked{"moon", "the moon", plan.ByEnvironment, false}) {
		t.Errorf("the last rule is %+v", all[len(all)-1])
	}
	j := results.Journal{Records: judged()}
	for _, r := range j.Records {
		want := results.Record{Verdict: results.OK}
		if full(&r) {
			want.Fail(plan.ByEnvironment, reason, fix)
		}
		if r.Verdict != want.Verdict || r.Gate != want.Gate || r.Reason != want.Reason || r.Fix != want.Fix {
			t.Errorf("%s at %g: %s by %q, %q (%q)", r.Cell.ID, *r.SUT.ThroughputGbps, r.Verdict, r.Gate, r.Reason,
				r.Fix)
		}
	}
	stops := report.Summarize(j).Stops
	if len(stops) != 1 || stops[0].Reason != reason || stops[0].Fix != fix {
		t.Errorf("the report's reasons: %+v", stops)
	}

	flagged := func(what string, recs []results.Record) {
		t.Helper()
		for _, r := range recs {
			if r.Verdict != results.OK || slices.Contains(r.Flags, "moon") != full(&r) ||
				slices.Contains(r.Warnings, reason) != full(&r) {
				t.Errorf("%s: %s: %s, flags %q, warnings %q", what, r.Cell.ID, r.Verdict, r.Flags, r.Warnings)
			}
		}
		told := false
		for _, n := range report.Summarize(results.Journal{Records: recs}).Notes {
			told = told || n.Text == reason && n.Count == 8
		}
		if !told {
			t.Errorf("%s: the report does not tell it", what)
		}
	}
	add(rule{Name: "moon", Looks: "the moon", Class: plan.ByOutcome, run: asRule})
	flagged("an outcome", judged())
	add(rule{Name: "moon", Looks: "the moon", mark: func(_ plan.Gates, r *results.Record) {
		if full(r) {
			r.Mark("moon", reason)
		}
	}})
	flagged("a mark", judged())
	add(rule{Name: "moon", Looks: "the moon", Class: plan.ByOutcome, cell: func(g plan.Gates,
		runs []*results.Record) *failure {
		return asRule(g, runs[0])
	}})
	whole := results.Journal{Header: results.Header{Plan: &plan.Origin{}}, Records: judged()}
	Apply(&whole)
	flagged("of a cell", whole.Records)
	add(rule{Name: "moon", Looks: "the moon", both: func(_ *Both, r *results.Record) {
		r.Verdict, r.Reason, r.Fix = results.Failed, reason, fix
	}})
	r := judged()[0]
	if new(Both).Judge(&r); r.Verdict != results.Failed || r.Fix != fix {
		t.Errorf("of what both ends said: %s, %q (%q)", r.Verdict, r.Reason, r.Fix)
	}
}
