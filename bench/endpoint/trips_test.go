// SPDX-License-Identifier: MIT

package endpoint

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
)

// rrSpecs are the two ends of round trips. Both know the whole cell, as agents do.
func rrSpecs(rx string, c plan.Cell) (r, s wire.EndSpec) {
	c.RX, c.TX = rx, "rr"
	if m, err := modes.Find(stream.RX, rx); err == nil && m.Kind == stream.Datagram {
		c.TX = "udp-rr"
	}
	r, s = rxSpec(rx, 0), txSpec(c.TX, 0)
	r.Cell, s.Cell = c, c
	return r, s
}

// Every receive mode that has the payload in its hands answers every request with its own bytes,
// one or many in flight, of one flow or several, and both ends count the same.
func TestEveryModeAnswers(t *testing.T) {
	for _, rx := range runnable(t, stream.RX) {
		m, err := modes.Find(stream.RX, rx)
		if err != nil {
			t.Fatal(err)
		}
		if m.Has(stream.NoPayload) || m.Kind == stream.Frame {
			continue
		}
		for name, c := range map[string]plan.Cell{"one byte": {}, "many": {Request: 100, Response: 300,
			InFlight: 16}, "large": {Request: 64 * kib, Response: 1000, InFlight: 2},
			"at a rate": {RRRate: 2000, InFlight: 4},
			"flows":     {Flows: 3, InFlight: 2}} {
			t.Run(rx+"/"+name, func(t *testing.T) {
				rs, ss := rrSpecs(rx, c)
				if c.Flows > 0 {
					rs, ss = several(rs, c.Flows), several(ss, c.Flows)
				}
				r, s := flowUntil(t, rs, ss, trips(100))
				if r.Verdict != results.OK || s.Verdict != results.OK {
					t.Fatalf("receiver %s: %s; sender %s: %s", r.Verdict, r.Reason, s.Verdict, s.Reason)
				}
				n := s.Total.Transactions
				if n == 0 || n != r.Total.Transactions || r.Total.Bytes != n*uint64(max(c.Request, 1)) ||
					r.Total.Bytes != s.Total.Bytes || r.Total.Mismatches+s.Total.Mismatches != 0 {
					t.Errorf("asked %+v, answered %+v", s.Total, r.Total)
				}
				a, b := &s.Host, &r.Host
				if a.Transactions == nil || b.Transactions == nil || a.RoundTrip == nil || b.RoundTrip != nil ||
					a.Delivery != nil || b.Delivery != nil {
					t.Fatalf("asker %+v, answerer %+v", a.RoundTrip, b.RoundTrip)
				}
				rtt := a.RoundTrip
				if rtt.Count != *a.Transactions || *rtt.P50Us <= 0 || *rtt.P90Us < *rtt.P50Us ||
					*rtt.P99Us < *rtt.P90Us || *rtt.P999Us < *rtt.P99Us || *rtt.MaxUs < *rtt.P999Us ||
					rtt.Check() != nil {
					t.Errorf("%+v of %d", rtt, *a.Transactions)
				}
			})
		}
	}
}

// Of datagrams the same: each request is answered or given up, and both ends' accounts fit
// together.
func TestDatagramModesAnswer(t *testing.T) {
	for _, rx := range []string{"udp", "udp-gro", "udp-uring"} {
		if m, err := modes.Find(stream.RX, rx); err != nil || m.Support("lo") != nil {
			t.Logf("without %s", rx)
			continue
		}
		for name, c := range map[string]plan.Cell{"shortest": {}, "many": {Request: 100, Response: 300,
			InFlight: 16}, "fragments": {Request: 20_000, Response: 40_000, InFlight: 2},
			"at a rate":    {RRRate: 2000, InFlight: 4},
			"single calls": {UDPBatch: 1, InFlight: 3}, "flows": {Flows: 2, InFlight: 2},
			"shorter": {Request: 500, Response: 18}} {
			if rx == "udp-gro" && c.UDPBatch == 1 {
				continue // no such plan: it takes pieces, not single datagrams
			}
			t.Run(rx+"/"+name, func(t *testing.T) {
				rs, ss := rrSpecs(rx, c)
				if c.Flows > 0 {
					rs, ss = several(rs, c.Flows), several(ss, c.Flows)
				}
				r, s := flowUntil(t, rs, ss, trips(100))
				if r.Verdict != results.OK || s.Verdict != results.OK {
					t.Fatalf("receiver %s: %s; sender %s: %s", r.Verdict, r.Reason, s.Verdict, s.Reason)
				}
				asked, answered := s.Total, r.Total
				if asked.Transactions == 0 || asked.Transactions+asked.TripsLost != asked.Packets ||
					asked.Transactions+asked.AnswersLate > answered.Transactions ||
					answered.Transactions > answered.Packets || answered.Packets > asked.Packets ||
					asked.Corrupted+answered.Corrupted != 0 {
					t.Errorf("asked %+v, answered %+v", asked, answered)
				}
				a, b := &s.Host, &r.Host
				if a.Transactions == nil || b.Transactions == nil || a.RoundTrip == nil || b.RoundTrip != nil ||
					a.TransactionsLost == nil || b.TransactionsLost != nil {
					t.Fatalf("asker %+v, answerer %+v", a.RoundTrip, b.RoundTrip)
				}
				if rtt := a.RoundTrip; rtt.Count != *a.Transactions+*a.TransactionsLost || *rtt.P50Us <= 0 ||
					rtt.Check() != nil {
					t.Errorf("%+v of %d and %d", rtt, *a.Transactions, *a.TransactionsLost)
				}
				if *a.Packets.Answers != asked.Transactions+asked.AnswersLate ||
					*b.Packets.Answers != answered.Transactions {
					t.Errorf("%s; %s", a.Packets.PacketsText(), b.Packets.PacketsText())
				}
			})
		}
	}
}

// What cannot be is refused before anything is opened, and says what to do.
func TestRoundTripsRefused(t *testing.T) {
	for _, x := range []struct {
		rx   string
		c    plan.Cell
		want string
	}{
		{"tcp-trunc", plan.Cell{}, "cannot answer"},
		{"tcp", plan.Cell{PaceBitsPS: 1e9}, "all modes but tx rr"},
		{"tcp", plan.Cell{MessageBytes: 64 << 20}, "all modes but tx rr"},
		{"tcp", plan.Cell{Request: stream.MaxTripBytes, InFlight: 65}, "in flight"},
		{"tcp", plan.Cell{RRTimeoutUs: 1000}, "it applies to udp-rr"},
		{"udp", plan.Cell{Request: 17}, "18..65507"},
		{"udp", plan.Cell{Response: 65508}, "18..65507"},
	} {
		r, s := rrSpecs(x.rx, x.c)
		rerr, serr := Check(r), Check(s)
		if rerr == nil && serr == nil {
			t.Errorf("%s, %+v: taken", x.rx, x.c)
			continue
		}
		if !strings.Contains(errText(rerr)+errText(serr), x.want) {
			t.Errorf("%s, %+v: %v; %v", x.rx, x.c, rerr, serr)
		}
	}
	if err := Check(wire.EndSpec{Role: stream.TX, Cell: plan.Cell{TX: "tcp", InFlight: 4}, Addr: "h:1",
		Flows: wire.OneFlow(-1)}); err == nil || !strings.Contains(err.Error(), "it applies to rr") {
		t.Errorf("requests of a stream: %v", err)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A receiver on its own answers whoever asks. A mode that only looks at the payload when told to
// says so instead of leaving the sender to wait.
func TestAnswersOnItsOwn(t *testing.T) {
	alone := func(rx string) (r, s wire.EndSpec) {
		r, s = rrSpecs(rx, plan.Cell{})
		r.Cell.TX = ""
		return r, s
	}
	r, s := alone("tcp")
	if a, b := flowUntil(t, r, s, trips(100)); a.Verdict != results.OK || b.Verdict != results.OK ||
		a.Total.Transactions == 0 || a.Total.Transactions != b.Total.Transactions {
		t.Errorf("%s %s; %s %s", a.Verdict, a.Reason, b.Verdict, b.Reason)
	}
	r, s = alone("tcp-trunc")
	if a, _ := runBoth(t, r, s, endless(), lasting(0)); a.Verdict != results.Failed ||
		!strings.Contains(a.Reason, "cannot answer") || a.BlamesPeer {
		t.Errorf("%s %s", a.Verdict, a.Reason)
	}
}

// Both ends are of one plan: a sender of payload is no sender of requests.
func TestPlanOfRoundTripsIsKept(t *testing.T) {
	rs, _ := rrSpecs("tcp", plan.Cell{})
	a, _ := runBoth(t, rs, txSpec("tcp", 4*kib), lasting(50*time.Millisecond), lasting(0))
	if a.Verdict != results.Failed || !strings.Contains(a.Reason, "not the plan's rr") {
		t.Errorf("%s %s", a.Verdict, a.Reason)
	}
}

func kindOf(rx string) stream.Kind {
	m, _ := modes.Find(stream.RX, rx) // as the caller's list has it
	return m.Kind
}

// Sizes, too, are the plan's: a sender of others is refused before anything flows.
func TestSizesOfRoundTripsAreKept(t *testing.T) {
	for rx, c := range map[string]plan.Cell{"tcp": {Request: 64, Response: 100},
		"udp": {Request: 64, Response: 100}} {
		for _, other := range []plan.Cell{{Request: 64, Response: 101}, {Request: 65, Response: 100},
			{Request: 64}} {
			rs, _ := rrSpecs(rx, c)
			_, ss := rrSpecs(rx, other)
			a, _ := runBoth(t, rs, ss, lasting(50*time.Millisecond), lasting(0))
			_, o := tripOptions(&ss.Cell, kindOf(rx))
			want := "sends datagrams of 65 bytes, but 64 are expected" // whose transport looks first
			if rx == "tcp" || other.Request == 64 {
				want = fmt.Sprintf("requests have %d bytes and want answers of %d, but the plan's have 64 and want 100",
					other.Request, o.ResponseBytes)
			}
			if a.Verdict != results.Failed || !strings.Contains(a.Reason, want) {
				t.Errorf("%s: %s %s, want %q", rx, a.Verdict, a.Reason, want)
			}
		}
	}
}

// A receiver that never answers is noticed.
func TestNobodyAnswers(t *testing.T) {
	p := peerPort(t)
	_, ss := rrSpecs("tcp", plan.Cell{})
	ss.Addr = p.Addr().String()
	sch := endless()
	sch.StallNs = 200 * ms
	res := background(context.Background(), open(t, ss), sch)
	receiveAt(t, p, stream.Welcome{})
	failed(t, result(t, res), "no payload for 200ms")
}
