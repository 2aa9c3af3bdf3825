// SPDX-License-Identifier: MIT

package endpoint

import (
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
)

// lentSpecs are the two ends of round trips that a mode sends without a copy.
func lentSpecs(rx, tx string, c plan.Cell) (r, s wire.EndSpec) {
	c.RX, c.TX = rx, tx
	r, s = rxSpec(rx, 0), txSpec(tx, 0)
	r.Cell, s.Cell = c, c
	if c.Flows > 0 {
		r, s = several(r, c.Flows), several(s, c.Flows)
	}
	return r, s
}

// Every receive mode that has the payload in its hands answers requests that are sent without a
// copy likewise: right, by memory of its own, of which the kernel says what became. Over loopback
// it copies all of it, so with the limit that holds elsewhere the receiver's end is invalid, too.
func TestEveryModeAnswersWithoutACopy(t *testing.T) {
	for _, tx := range []string{"rr-uring-zc", "rr-msg-zerocopy"} {
		m, err := modes.Find(stream.TX, tx)
		if err != nil || m.Support("lo") != nil {
			t.Logf("without %s: %v", tx, err)
			continue
		}
		for _, rx := range runnable(t, stream.RX) {
			if m, err := modes.Find(stream.RX, rx); err != nil || m.Has(stream.NoPayload) || m.Kind != stream.Stream {
				continue
			}
			for name, c := range map[string]plan.Cell{"one": {Request: 4096, Response: 4096},
				"many":  {Request: 100, Response: 30_000, InFlight: 16},
				"flows": {Flows: 3, InFlight: 2, Request: 8192, Response: 64}} {
				t.Run(tx+"/"+rx+"/"+name, func(t *testing.T) {
					rs, ss := lentSpecs(rx, tx, c)
					r, s := flowUntil(t, rs, ss, trips(200))
					if r.Verdict != results.OK || s.Verdict != results.OK {
						t.Fatalf("receiver %s: %s; sender %s: %s", r.Verdict, r.Reason, s.Verdict, s.Reason)
					}
					n := s.Total.Transactions
					if n == 0 || n != r.Total.Transactions || r.Total.Bytes != n*uint64(max(c.Request, 1)) ||
						r.Total.Bytes != s.Total.Bytes || r.Total.Mismatches+s.Total.Mismatches != 0 ||
						s.Total.CopiedBytes == 0 {
						t.Errorf("asked %+v, answered %+v", s.Total, r.Total)
					}
				})
			}
		}
	}
}

// The verdict on the receiver's end is on its answers, and was to be expected over loopback.
func TestCopiedAnswersAreFoundOut(t *testing.T) {
	if m, err := modes.Find(stream.TX, "rr-msg-zerocopy"); err != nil || m.Support("lo") != nil {
		t.Skip("without it")
	}
	rs, ss := lentSpecs("tcp", "rr-msg-zerocopy", plan.Cell{Request: 4096, Response: 4096})
	r, s := openBoth(t, rs, ss)
	defer closeEnd(t, r)
	defer closeEnd(t, s)
	rx, tx := lasting(0), lasting(0)
	rx.StopNs, tx.StopNs = counter.Monotonic(), counter.Monotonic()+int64(time.Hour)
	rx.MaxCopiedFrac = nil
	got, sent := background(t.Context(), r, rx), background(t.Context(), s, tx)
	until(t, "round trips", func() bool { return trips(100)(r.flows[0].Meter.Snapshot()) })
	s.stop()
	_ = result(t, sent)
	if v := result(t, got); v.Verdict != results.Invalid || !v.Expected ||
		!strings.HasPrefix(v.Reason, "the kernel copied 100.0 % of the answers of rr-msg-zerocopy") {
		t.Errorf("%s, expected %v: %s", v.Verdict, v.Expected, v.Reason)
	}
}
