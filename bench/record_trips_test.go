// SPDX-License-Identifier: MIT

package bench

import (
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

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
