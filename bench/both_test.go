// SPDX-License-Identifier: MIT

package bench

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// Each end sends and receives at once, verified at both, and the figures of both ways are there.
// What goes both ways is refused in turns, and a mode that cannot run the other way says so.
func TestIntegrationBoth(t *testing.T) {
	r := newRig(t)
	for _, c := range []plan.Cell{
		{ID: "tcp", RX: "tcp", TX: "tcp", Both: new(true), Touch: "verify"},
		{ID: "uring", RX: "uring", TX: "sendfile", Both: new(true), Touch: "verify"},
		{ID: "tcp from uring", RX: "tcp", TX: "uring", Both: new(true), Touch: "verify"},
	} {
		r.bounded(8 << 20)
		rec := r.Runner.Run(t.Context(), matrix.Run{Cell: c})
		if rec.Verdict != results.OK {
			t.Fatalf("%s: %s: %s; fix %s", c.ID, rec.Verdict, rec.Reason, rec.Fix)
		}
		sut, tg := rec.SUT.Back, rec.TG.Back
		if sut == nil || tg == nil || tg.Bytes == 0 || sut.Bytes != tg.Bytes || !(tg.ThroughputGbps > 0) ||
			tg.Mismatches == nil || *tg.Mismatches != 0 || rec.SUT.Mismatches == nil || *rec.SUT.Mismatches != 0 {
			t.Errorf("%s: the SUT sent %+v, the TG received %+v", c.ID, sut, tg)
		}
		if c.CheckTurns() == nil {
			t.Errorf("%s: in turns", c.ID)
		}
	}
	requestsBothWays(t, r)
	c := plan.Cell{ID: "no", RX: "tcp", TX: "devmem", Both: new(true)}
	if rec := r.Runner.Run(t.Context(), matrix.Run{Cell: c}); rec.Verdict != results.Unsupported {
		t.Errorf("%s: %s", rec.Verdict, rec.Reason)
	} else if !strings.Contains(rec.Reason, "the other way") {
		t.Errorf("%s", rec.Reason)
	}
}

// Each end asks and answers at once: both count what the other asked, time their own, and what a
// request costs is of those of both ways.
func requestsBothWays(t *testing.T, r *rig) {
	t.Helper()
	r.bounded(200 * 500)
	rec := r.Runner.Run(t.Context(), matrix.Run{Cell: plan.Cell{ID: "rr", RX: "uring", TX: "rr", Both: new(true),
		Request: 200, Response: 30, InFlight: 2, Touch: "verify"}})
	if rec.Verdict != results.OK {
		t.Fatalf("%s: %s; fix %s", rec.Verdict, rec.Reason, rec.Fix)
	}
	sut, tg := &rec.SUT, &rec.TG
	if sut.Back == nil || tg.Back == nil || sut.Transactions == nil || tg.Transactions == nil ||
		sut.Back.Transactions == nil || tg.Back.Transactions == nil {
		t.Fatalf("the SUT %+v, the TG %+v", sut.Back, tg.Back)
	}
	if *sut.Back.Transactions == 0 || *tg.Back.Transactions < *sut.Back.Transactions ||
		*tg.Transactions == 0 || *sut.Transactions < *tg.Transactions || tg.RoundTrip == nil ||
		!(tg.Value("rtt_p50_us") > 0) || !(sut.Value("back_rtt_p50_us") > 0) {
		t.Errorf("the TG asked %d in %v us, and answered %d; the SUT asked %d in %v us, and answered %d",
			*tg.Transactions, tg.Value("rtt_p50_us"), *tg.Back.Transactions, *sut.Back.Transactions,
			sut.Value("back_rtt_p50_us"), *sut.Transactions)
	}
	if cost := tg.CPUUsPerTransaction(); cost != nil {
		of := float64(*tg.Transactions + *tg.Back.Transactions)
		if want := *tg.CPUBusyCores * *tg.DurationS * 1e6 / of; *cost < want*.999 || *cost > want*1.001 ||
			tg.Value("cpu_us_per_transaction") != *cost {
			t.Errorf("a transaction costs %v us, in metrics %v, want %v", *cost, tg.Value("cpu_us_per_transaction"),
				want)
		}
	}
}
