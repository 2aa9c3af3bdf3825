// SPDX-License-Identifier: MIT

package endpoint

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
	"golang.org/x/sys/unix"
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
	needMode(t, stream.TX, "rr-msg-zerocopy")
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

// ask opens a flow of requests of 64 bytes in the name of a mode, whatever this host can do, sends
// one and takes its answer, which is to be the request.
func ask(t *testing.T, e *End, mode string) {
	t.Helper()
	p := streamtest.Payload(t, 64)
	c, _, err := stream.Dial(await.Context(t), e.Addr().String(), stream.Hello{Cookie: cookie, TXMode: mode,
		MessageBytes: 64, PeriodBytes: uint64(p.PeriodBytes()), ResponseBytes: 64, Duration: 1}, sock.Options{})
	if err != nil {
		t.Errorf("%s: %v", mode, err)
		return
	}
	defer c.Close()
	if n := sendMessages(c, p, 1); n != 64 {
		t.Fatalf("%d bytes of a request were sent", n)
	}
	got := make([]byte, 0, 64)
	var w sock.Waiter
	for len(got) < 64 {
		switch n, errno := sock.Recv(c.FD, got[len(got):64], 0); {
		case errno == unix.EAGAIN:
			w.Wait(c.FD, unix.POLLIN, 10)
		case errno == unix.EINTR:
		case errno != 0 || n == 0:
			t.Fatalf("after %d bytes of the answer: %d, %v", len(got), n, errno)
		default:
			got = got[:len(got)+n]
		}
	}
	if !bytes.Equal(got, p.Message(0)) {
		t.Errorf("%s: the answer is %x", mode, got)
	}
	if err := c.EndOfSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ReadFarewell(await.Deadline()); err != nil {
		t.Fatal(err)
	}
}

// A receiver on its own lends nobody memory, and binds none to its interface, at the word of who
// comes: whatever mode that names, it answers by copies, and says so.
func TestStrangersAreLentNothing(t *testing.T) {
	for _, tx := range modes.Lenders() {
		r := open(t, rxSpec("tcp", 64))
		got := background(t.Context(), r, lasting(0))
		ask(t, r, tx)
		res := result(t, got)
		note := "answers were copied, although the sender's mode is " + tx + ": start zcrecv with --answers " + tx
		if res.Verdict != results.OK || r.flows[0].Meter.Answers().Lent() || res.Total.Transactions != 1 ||
			!warns(res, note) {
			t.Errorf("%s: %s %s, lent %v, %d answers, %q", tx, res.Verdict, res.Reason,
				r.flows[0].Meter.Answers().Lent(), res.Total.Transactions, res.Warnings)
		}
		closeEnd(t, r)
	}
}

// warns reports whether a result says so.
func warns(r wire.EndResult, start string) bool {
	return slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, start) })
}

// It lends where its user wants that, to senders of that mode alone.
func TestAnswersAsTheUserWants(t *testing.T) {
	const tx = "rr-msg-zerocopy"
	needMode(t, stream.TX, tx)
	alone := func() wire.EndSpec {
		s := rxSpec("tcp", 0)
		s.Answers = tx
		return s
	}
	r, s := flowUntil(t, alone(), txSpec(tx, 0), trips(100))
	if r.Verdict != results.OK || s.Verdict != results.OK || warns(r, "answers were copied") ||
		r.Host.Value("answers_copied_bytes") == 0 { // over loopback all are, by the kernel's word
		t.Errorf("%s %s, %q; %s %s", r.Verdict, r.Reason, r.Warnings, s.Verdict, s.Reason)
	}
	for _, other := range []string{"rr", "tcp"} {
		r, _ := runBoth(t, alone(), txSpec(other, 0), lasting(50*time.Millisecond), lasting(0))
		failed(t, r, "the sender's mode is "+other+", but answers are to leave by "+tx)
	}
	for _, x := range []struct{ mode, rx, want string }{{"rr", "tcp", "want one of rr-msg-zerocopy, "},
		{"nosuch", "tcp", "want one of "}, {tx, "tcp-trunc", "does not answer"}, {tx, "udp", "does not answer"}} {
		s := rxSpec(x.rx, 64)
		s.Answers = x.mode
		if err := Check(s); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s of %s: %v", x.mode, x.rx, err)
		}
	}
}

// Who asks by another mode than the plan's is refused, before anything is lent: its answers would
// leave in another way than the one that is measured.
func TestPlanOfLentAnswersIsKept(t *testing.T) {
	for _, x := range []struct{ plan, said string }{{"rr-uring-zc", "rr"}, {"rr", "rr-devmem"},
		{"rr-devmem", "rr-uring-zc"}, {"tcp", "msg-zerocopy"}} {
		rs := rxSpec("tcp", 0)
		rs.Cell.TX, rs.Cell.Request, rs.Cell.Response = x.plan, 64, 64
		response := uint32(64)
		if !rs.Cell.RoundTrips() {
			rs.Cell.Request, rs.Cell.Response, response = 0, 0, 0
		}
		r := open(t, rs)
		got := background(t.Context(), r, lasting(0))
		if c, _, err := stream.Dial(await.Context(t), r.Addr().String(), stream.Hello{Cookie: cookie, TXMode: x.said,
			MessageBytes: 64, PeriodBytes: 4096, ResponseBytes: response}, sock.Options{}); err == nil {
			c.Close()
			t.Errorf("%s was welcome as %s", x.said, x.plan)
		}
		failed(t, result(t, got), "the sender's mode is "+x.said+", not the plan's "+x.plan)
		if r.flows[0].Meter.Answers() != nil {
			t.Errorf("%s as %s: it was to be answered", x.said, x.plan)
		}
		closeEnd(t, r)
	}
}
