// SPDX-License-Identifier: MIT

package bench

import (
	"testing"

	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

func TestOutcome(t *testing.T) {
	a, b := cell("tcp", "tcp"), cell("uring", "tcp")
	run := func(c plan.Cell, rep int, v results.Verdict, gbps float64) results.Record {
		return results.Record{Cell: c, Rep: rep, Verdict: v, SUT: results.Host{ThroughputGbps: &gbps}}
	}
	spoilt := func(c plan.Cell, rep int) results.Record {
		r := run(c, rep, results.OK, 1)
		r.Fail(plan.ByEnvironment, "foreign load", "end it")
		return r
	}
	inTurns := func(c plan.Cell, rep int, gate plan.GateClass) results.Record {
		r := run(c, rep, results.Invalid, 1)
		r.Turns, r.Gate = &results.Turns{}, gate
		return r
	}
	paced := a
	paced.PacePercent, paced.PaceBitsPS = 50, 0
	unpaced := run(paced, 0, results.Failed, 0)
	j := func(recs ...results.Record) results.Journal { return results.Journal{Records: recs} }
	warmup := run(a, 0, results.Failed, 0)
	warmup.Warmup = true
	for name, x := range map[string]struct {
		j    results.Journal
		want Outcome
	}{
		"nothing": {j(), Outcome{}},
		"good":    {j(run(a, 0, results.OK, 1), run(b, 0, results.Unsupported, 0), warmup), Outcome{}},
		"each": {j(run(a, 0, results.Failed, 0), run(a, 1, results.Invalid, 1),
			run(b, 0, results.Failed, 0)), Outcome{Failed: 2, Invalid: 1}},
		"made again": {j(run(a, 0, results.Failed, 0), run(a, 1, results.OK, 1), run(a, 0, results.OK, 1)),
			Outcome{}},
		"failed again": {j(run(a, 0, results.Failed, 0), run(a, 0, results.Failed, 0)), Outcome{Failed: 1}},
		"replaced":     {j(spoilt(a, 0), spoilt(a, 0), run(a, 0, results.OK, 1)), Outcome{}},
		"spoilt": {j(spoilt(a, 0), spoilt(a, 0), spoilt(a, 0), run(a, 1, results.OK, 1)),
			Outcome{Invalid: 1, Spoilt: 1}},
		"spoilt, and not made again": {j(spoilt(a, 0), run(a, 1, results.OK, 1)),
			Outcome{Invalid: 1, Spoilt: 1, Once: 1}},
		"by a path that keeps no pace": {j(inTurns(a, 0, plan.ByOutcome), inTurns(a, 1, plan.ByProof),
			run(b, 0, results.OK, 1), unpaced), Outcome{Invalid: 2, Failed: 1, Unpaced: 1}},
		"nothing learnt by it": {j(inTurns(a, 0, plan.ByOutcome), unpaced),
			Outcome{Invalid: 1, Failed: 1}},
		"only spoilt":     {j(spoilt(a, 0)), Outcome{Invalid: 1, Spoilt: 1, Once: 1}},
		"invalid at last": {j(run(a, 0, results.Failed, 0), run(a, 0, results.Invalid, 1)), Outcome{Invalid: 1}},
	} {
		if got := OutcomeOf(x.j); got != x.want || got.Good() != (x.want == Outcome{}) {
			t.Errorf("%s: %+v, want %+v", name, got, x.want)
		}
	}

	for want, o := range map[string]Outcome{
		"1 run failed, 1 run is invalid":         {Failed: 1, Invalid: 1},
		"2 runs failed, 3 runs are invalid":      {Failed: 2, Invalid: 3},
		"1 run is invalid, no cell can run here": {Invalid: 1, Nothing: 4},
	} {
		if got := o.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}

	// A demo is also for a machine that has other work.
	for o, good := range map[Outcome]bool{{Invalid: 2, Spoilt: 2}: true, {Invalid: 2, Spoilt: 1}: false,
		{Invalid: 3, Spoilt: 2, Expected: 1}: true, {Invalid: 2, Expected: 2}: true,
		{Failed: 2, Unpaced: 2}: true, {Failed: 2, Unpaced: 1}: false} {
		if o.AsDemo().Good() != good || o.Good() {
			t.Errorf("%+v: good %v", o, !good)
		}
	}

	// The gates of a cell make runs invalid that are ok by themselves.
	limit := .01
	spread := j(run(a, 0, results.OK, 10), run(a, 1, results.OK, 20), run(a, 2, results.OK, 30))
	spread.Header.Plan = &plan.Origin{Gates: plan.Gates{ThroughputCV: &limit, Asked: []string{"throughput_cv"}}}
	judge.Apply(&spread)
	if got := OutcomeOf(spread); got != (Outcome{Invalid: 3}) {
		t.Errorf("%+v", got)
	}
}
