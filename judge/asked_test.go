// SPDX-License-Identifier: MIT

package judge

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// An end that tells of another number of flows than it was asked for is not believed; one that
// was asked for one flow need not tell of it, and of a run that is not well nothing is asked.
func TestCountFlows(t *testing.T) {
	for _, c := range []struct {
		asked, sut, tg int
		verdict, want  results.Verdict
		says           string
	}{
		{0, 0, 0, results.OK, results.OK, ""},
		{0, 1, 1, results.OK, results.OK, ""},
		{4, 4, 4, results.OK, results.OK, ""},
		{4, 4, 3, results.OK, results.Failed,
			"TG: the agent answered nonsense: figures of 3 flows, but 4 were requested"},
		{0, 2, 1, results.OK, results.Failed,
			"SUT: the agent answered nonsense: figures of 2 flows, but 1 were requested"},
		{4, 0, 4, results.OK, results.Failed, "SUT: the agent answered nonsense: figures of 0 flows"},
		{4, 4, 1, results.Failed, results.Failed, ""},
		{4, 4, 1, results.Invalid, results.Invalid, ""},
	} {
		r := results.Record{Cell: plan.Cell{Flows: c.asked}, Verdict: c.verdict}
		r.SUT.Flows, r.TG.Flows = make([]results.Flow, c.sut), make([]results.Flow, c.tg)
		countFlows(&r)
		if r.Verdict != c.want || !strings.HasPrefix(r.Reason, c.says) || (r.Fix == "") != (c.says == "") {
			t.Errorf("%+v: %s %q %q", c, r.Verdict, r.Reason, r.Fix)
		}
	}
}

// The cell says whether a run is one of round trips, and no end does.
func TestAskedTrips(t *testing.T) {
	for name, x := range map[string]struct {
		tx     string
		change func(*results.Record)
		want   results.Verdict
	}{
		"a stream": {"tcp", func(*results.Record) {}, results.OK},
		"round trips": {"rr", func(r *results.Record) {
			r.SUT.Transactions,
				r.TG.Transactions = new(uint64(7)), new(uint64(7))
		}, results.OK},
		"told by the sender": {"tcp", func(r *results.Record) { r.TG.Transactions = new(uint64(0)) },
			results.Failed},
		"told by the receiver": {"tcp", func(r *results.Record) { r.SUT.Transactions = new(uint64(9)) },
			results.Failed},
		"times alone": {"tcp", func(r *results.Record) { r.TG.RoundTrip = &results.Times{} }, results.Failed},
		"asked for, none there": {"rr", func(r *results.Record) { r.SUT.Transactions = new(uint64(7)) },
			results.Failed},
	} {
		r := results.Record{Cell: plan.Cell{RX: "tcp", TX: x.tx}, Verdict: results.OK}
		x.change(&r)
		if askedTrips(&r); r.Verdict != x.want {
			t.Errorf("%s: %s, want %s", name, r.Verdict, x.want)
		}
	}
}
