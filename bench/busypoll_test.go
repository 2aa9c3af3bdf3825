// SPDX-License-Identifier: MIT

package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/veth/vethtest"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// A veth has a queue to poll where it has GRO on, and the other end no TSO: with it packets go by
// the backlog all the same (drivers/net/veth.c: veth_skb_is_eligible_for_gro). There calls that
// wait for packets take them themselves, which the kernel counts, and the run is not flagged. Where
// they do not, at one end or at both, the run says so.
func TestIntegrationBusyPoll(t *testing.T) {
	r := newRig(t)
	if len(r.sut.Info.OnlineCPUs) < 2 {
		t.Skip("needs 2 CPUs: on one, a call that polls keeps the sender from sending")
	}
	r.Runner.Opt.Duration, r.Runner.Opt.RampUp = 300*time.Millisecond, 100*time.Millisecond
	anyway := func(*results.Record) bool { return true }
	atSUT := func(rec *results.Record) bool { return polled(&rec.SUT) > 0 }
	atBoth := func(rec *results.Record) bool { return atSUT(rec) && polled(&rec.TG) > 0 }
	run := func(rx, tx string, enough func(*results.Record) bool) *results.Record {
		rec := r.seen(t, matrix.Run{Cell: plan.Cell{ID: rx, RX: rx, TX: tx, BusyPollUs: 2000}}, enough)
		if rec.Verdict == results.Unsupported {
			t.Logf("%s: %s", rx, rec.Reason)
			return nil
		}
		if rec.Verdict != results.OK {
			t.Fatalf("%s: %s: %s", rx, rec.Verdict, rec.Reason)
		}
		t.Logf("%s: %d round trips, p50 %.1f us; %.0f packets were polled at the SUT, and %.0f at the TG", rx,
			*rec.TG.Transactions, *rec.TG.RoundTrip.P50Us, polled(&rec.SUT), polled(&rec.TG))
		for _, h := range []*results.Host{&rec.SUT, &rec.TG} { // eBPF counts them, too
			if polled(h) > 0 && !(h.Value(measure.MetricPolledByApp) > 0) {
				t.Errorf("%s: %.0f packets were polled, %v %% of all", rx, polled(h),
					h.Value(measure.MetricPolledByApp))
			}
		}
		return &rec
	}
	inert := func(rec *results.Record, where string) {
		if i := judge.FindInert(rec); len(i) != 1 || !strings.Contains(i[0].Reason, where) ||
			!strings.Contains(i[0].Fix, "TSO off") {
			t.Errorf("%+v, want one %s", i, where)
		}
	}
	vethtest.GRO(t, r.pair.SUT, true)
	if rec := run("tcp", "rr", anyway); rec != nil {
		inert(rec, "at either end")
	}
	vethtest.NoTSO(t, r.pair.TG)
	if rec := run("tcp", "rr", atSUT); rec != nil && polled(&rec.SUT) > 0 {
		inert(rec, "at the TG, only at the SUT")
	} else if rec != nil {
		t.Error("no packet was polled at the SUT")
	}
	vethtest.GRO(t, r.pair.TG, true)
	vethtest.NoTSO(t, r.pair.SUT)
	for rx, tx := range map[string]string{"tcp": "rr", "uring": "rr", "udp": "udp-rr", "udp-uring": "udp-rr"} {
		if rec := run(rx, tx, atBoth); rec != nil {
			if i := judge.FindInert(rec); polled(&rec.SUT) == 0 || polled(&rec.TG) == 0 || len(i) != 0 {
				t.Errorf("%s: %.0f and %.0f packets polled: %+v", rx, polled(&rec.SUT), polled(&rec.TG), i)
			}
		}
	}
}

// polled is how many packets a host's calls took of a queue.
func polled(h *results.Host) float64 {
	if n := h.Value(measure.MetricBusyPolled); n > 0 {
		return n
	}
	return 0
}
