// SPDX-License-Identifier: MIT

package bench

import (
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

var tripCells = []plan.Cell{
	{ID: "tcp/rr", RX: "tcp", TX: "rr"},
	{ID: "uring/rr", RX: "uring", TX: "rr", InFlight: 4, Request: 64, Response: 128},
	{ID: "rate", RX: "tcp", TX: "rr", RRRate: 1000, InFlight: 8},
	{ID: "busy", RX: "tcp", TX: "rr", BusyPollUs: 50},
	{ID: "crr", RX: "tcp", TX: "crr"},
	{ID: "crr, many", RX: "tcp", TX: "crr", InFlight: 8, Request: 64, Response: 5000},
	{ID: "udp/rr", RX: "udp", TX: "udp-rr"},
	{ID: "udp-uring/rr", RX: "udp-uring", TX: "udp-rr", InFlight: 4, Request: 64, Response: 128},
	{ID: "udp-xsk/rr", RX: "udp-xsk", TX: "udp-rr"},
	{ID: "udp-xsk/rr, many", RX: "udp-xsk", TX: "udp-rr", InFlight: 16, Request: 100, Response: 40},
}

// Of whole runs, both ends have the same account of the round trips, and the interface carried a
// packet for each at least.
func TestIntegrationRoundTripsCounted(t *testing.T) {
	r := newRig(t)
	for _, c := range tripCells {
		r.bounded(uint64(500 * max(c.Request, 1)))
		rec := r.Runner.Run(t.Context(), matrix.Run{Cell: c})
		if rec.Verdict != results.OK {
			t.Fatalf("%s: %s: %s; fix %s", c.ID, rec.Verdict, rec.Reason, rec.Fix)
		}
		asked, answered, packets := *rec.TG.Transactions, *rec.SUT.Transactions, rec.SUT.Value("link_rx_packets")
		lost := uint64(0)
		if n := rec.TG.TransactionsLost; n != nil {
			lost = *n
		}
		if asked == 0 || answered < asked || answered > asked+lost {
			t.Errorf("%s: %v asked, %v lost, %v answered", c.ID, asked, lost, answered)
		}
		if c.InFlight == 0 && !(packets >= float64(answered)) {
			t.Errorf("%s: %v answers to %v packets", c.ID, answered, packets)
		}
	}
}

// The windows of both ends are read a moment apart, and each beside its host's counters.
func TestIntegrationRoundTripWindows(t *testing.T) {
	kind.Timed(t)
	r := newRig(t)
	near := func(a, b float64) bool { return a >= .8*b && a <= 1.25*b }
	for _, c := range []plan.Cell{tripCells[0], tripCells[1], tripCells[4], tripCells[6]} {
		rec := r.inTime(t, matrix.Run{Cell: c})
		if rec.Verdict != results.OK {
			t.Fatalf("%s: %s: %s; fix %s", c.ID, rec.Verdict, rec.Reason, rec.Fix)
		}
		asked, answered, packets := float64(*rec.TG.Transactions), float64(*rec.SUT.Transactions),
			rec.SUT.Value("link_rx_packets")
		if !near(answered, asked) || c.InFlight == 0 && !(packets >= .8*answered) {
			t.Errorf("%s: %g asked, %g answered, %g packets", c.ID, asked, answered, packets)
		}
	}
}

// Round trips between two hosts: every answer is its request's, and the cost of each is known of
// both ends.
func TestIntegrationRoundTrips(t *testing.T) {
	r := newRig(t)
	for _, c := range tripCells {
		rec := r.inTime(t, matrix.Run{Cell: c})
		if rec.Verdict != results.OK {
			t.Fatalf("%s: %s: %s; fix %s", c.ID, rec.Verdict, rec.Reason, rec.Fix)
		}
		tg, sut := &rec.TG, &rec.SUT
		if tg.Transactions == nil || sut.Transactions == nil || tg.RoundTrip == nil || *tg.RoundTrip.P50Us <= 0 ||
			sut.RoundTrip != nil {
			t.Fatalf("%s: %+v, %+v", c.ID, tg.RoundTrip, sut.RoundTrip)
		}
		if tg.Packets != nil {
			if u := sut.Packets.Unaccounted; u == nil || *u != 0 || *tg.Packets.Sent != *sut.Packets.Received+
				*sut.Packets.Lost {
				t.Errorf("%s: the account does not close: %s; %s; %v", c.ID, tg.Packets.PacketsText(),
					sut.Packets.PacketsText(), rec.Warnings)
			}
		}
		if c.BusyPollUs > 0 { // see TestIntegrationBusyPoll
			if i := judge.FindInert(&rec); len(i) != 1 || i[0].Option != "busy_poll" {
				t.Errorf("%s: %+v", c.ID, i)
			}
		}
		for _, h := range []*results.Host{tg, sut} {
			if h.CPUBusyCores != nil && h.CPUUsPerTransaction() == nil {
				t.Errorf("%s: no cost per transaction: %+v", c.ID, h)
			}
		}
		t.Logf("%s: %.0f per second, p50 %.1f us, p99 %.1f us", c.ID, *tg.TransactionsPerS(), *tg.RoundTrip.P50Us,
			*tg.RoundTrip.P99Us)
	}
}
