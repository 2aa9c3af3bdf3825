// SPDX-License-Identifier: MIT

package endpoint

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/results"
)

// receiveSaying is a receiver that takes a flow and then says f of it, given the
// bytes that came.
func receiveSaying(t testing.TB, p *stream.Port, f func(got uint64) stream.Farewell) {
	t.Helper()
	c := receiveAt(t, p, stream.Welcome{})
	var w sock.Waiter
	got := uint64(0)
	for b := make([]byte, mib); ; {
		n, errno := sock.Recv(c.FD, b, unix.MSG_DONTWAIT)
		if n == 0 && errno == 0 {
			break
		}
		if errno == unix.EAGAIN {
			w.Wait(c.FD, unix.POLLIN, 100)
			continue
		}
		if errno != 0 {
			t.Fatal(errno)
		}
		got += uint64(n)
	}
	if err := c.SendFarewell(f(got)); err != nil {
		t.Fatal(err)
	}
}

func TestSenderBelievesTheReceiversAccount(t *testing.T) {
	for _, c := range []struct {
		f    func(uint64) stream.Farewell
		want results.Verdict
		say  string
	}{
		{func(n uint64) stream.Farewell { return stream.Farewell{Bytes: n} }, results.OK, ""},
		{func(n uint64) stream.Farewell { return stream.Farewell{Bytes: n - 1} }, results.Invalid,
			"byte counts differ"},
		{func(n uint64) stream.Farewell { return stream.Farewell{Bytes: n + 1} }, results.Invalid,
			"byte counts differ"},
		{func(n uint64) stream.Farewell { return stream.Farewell{Bytes: n, Mismatches: 3, Verified: true} },
			results.Invalid, "the receiver found 3 wrong payload bytes"},
	} {
		p := peerPort(t)
		s := txSpec("tcp", mib)
		s.Addr = p.Addr().String()
		res := background(context.Background(), open(t, s), bounded(8*mib, time.Hour))
		receiveSaying(t, p, c.f)
		got := result(t, res)
		if got.Verdict != c.want || !strings.Contains(got.Reason, c.say) || (c.say != "") != (got.Fix != "") {
			t.Errorf("%s %q; fix %q; want %s %q", got.Verdict, got.Reason, got.Fix, c.want, c.say)
		}
	}
}

func TestNoPayloadIsInvalid(t *testing.T) {
	r := open(t, rxSpec("tcp", mib))
	res := background(context.Background(), r, lasting(0))
	p, err := stream.NewPayload(kib)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c := dialTo(t, r, p, 20*time.Millisecond)
	await.Pause("its time, and more", 40*time.Millisecond)
	c.EndOfSend()
	if got := result(t, res); got.Verdict != results.Invalid || !strings.Contains(got.Reason, "no payload") {
		t.Errorf("%s %q", got.Verdict, got.Reason)
	}
}

func TestWindowGate(t *testing.T) {
	for _, c := range []struct {
		sch      wire.Schedule
		from, to int64
		bytes    uint64
		say      string
	}{
		{wire.Schedule{}, 0, 0, 0, ""}, // no window
		{wire.Schedule{FromNs: 1000 * ms, ToNs: 2000 * ms}, 1000 * ms, 2001 * ms, 1, ""},
		{wire.Schedule{FromNs: 1000 * ms, ToNs: 2000 * ms}, 1240 * ms, 2001 * ms, 1, ""},
		{wire.Schedule{FromNs: 1000 * ms, ToNs: 2000 * ms}, 1500 * ms, 2500 * ms, 1, ""}, // both as late
		{wire.Schedule{FromNs: 1000 * ms, ToNs: 2000 * ms}, 1260 * ms, 2000 * ms, 1,
			"lasted 740.0 ms, its edges read 260.0 ms late and 0.0 ms late"},
		{wire.Schedule{FromNs: 1000 * ms, ToNs: 2000 * ms}, 740 * ms, 2001 * ms, 1,
			"lasted 1261.0 ms, its edges read 260.0 ms early and 1.0 ms late"},
		{wire.Schedule{FromNs: 1000 * ms, ToNs: 2000 * ms}, 1000 * ms, 2260 * ms, 1, "lasted 1260.0 ms"},
		{wire.Schedule{FromNs: 1000 * ms, ToNs: 2000 * ms}, 1000 * ms, 2000 * ms, 0,
			"no payload was transferred in the window"},
	} {
		res := wire.EndResult{FromNs: c.from, ToNs: c.to, Window: stream.Counters{Bytes: c.bytes}}
		reason, fix := (&run{sch: c.sch}).gateWindow(&res)
		if (c.say == "") != (reason == "") || !strings.Contains(reason, c.say) || (reason != "") != (fix != "") {
			t.Errorf("%+v: %q; fix %q", c, reason, fix)
		}
		if late := strings.Contains(c.say, "lasted "); slices.Contains(res.Flags, results.FlagDisturbed) != late {
			t.Errorf("%+v: flags %q", c, res.Flags)
		}
	}
}

func TestZeroCopyGate(t *testing.T) {
	half := 0.5
	for _, c := range []struct {
		zero, copied, linear, uncounted uint64
		limit                           wire.Frac
		say                             string
	}{
		{100, 0, 0, 0, nil, ""},
		{99, 1, 0, 0, nil, ""},
		{98, 1, 1, 0, nil, "copied 2.0 %"},
		{98, 0, 2, 0, nil, "copied 2.0 %"},
		{100, 0, 0, 2, nil, "copied 2.0 %"},
		{99, 1, 0, 9, nil, "copied 10.0 %"},
		{50, 50, 0, 0, &half, ""},
		{49, 51, 0, 0, &half, "copied 51.0 %"},
		{0, 0, 0, 0, nil, "no evidence"},
		{0, 0, 0, 0, &half, "no evidence"},
	} {
		p := stream.Mode{Name: "zc", Traits: stream.ZeroCopy}
		r := &run{end: &End{path: p}, sch: wire.Schedule{MaxCopiedFrac: c.limit}}
		f := &flow{result: flowResult{evidence: stream.Evidence{Uncounted: c.uncounted}}}
		reason, fix := r.gateZeroCopy(f, stream.Counters{ZeroCopyBytes: c.zero, CopiedBytes: c.copied,
			LinearBytes: c.linear}, new(wire.EndResult))
		if (c.say == "") != (reason == "") || !strings.Contains(reason, c.say) || (reason != "") != (fix != "") {
			t.Errorf("%+v: %q; fix %q", c, reason, fix)
		}
		r.end.path.Traits = 0
		if reason, _ := r.gateZeroCopy(f, stream.Counters{CopiedBytes: 5}, new(wire.EndResult)); reason != "" {
			t.Errorf("a copying mode: %q", reason)
		}
	}
}

// What nobody can tell is neither proof of a copy nor of none: it has words of its own, with the
// reason that the path gave.
func TestUntoldGate(t *testing.T) {
	for _, c := range []struct {
		copied, untold uint64
		say            string
	}{
		{0, 0, ""},
		{0, 1, ""},
		{0, 60, "whether 60.0 % of the payload of zcrx were copied cannot be told (limit 1 %): no NAPI"},
		{5, 60, "the kernel copied 5.0 % of the payload of zcrx (limit 1 %): no NAPI"},
	} {
		r := &run{end: &End{path: stream.Mode{Name: "zcrx", Traits: stream.ZeroCopy},
			spec: wire.EndSpec{Role: stream.RX,
				Cell: plan.Cell{RX: "zcrx"}}, flows: []*flow{{}}}}
		f := &flow{result: flowResult{evidence: stream.Evidence{Untold: c.untold, Why: "no NAPI",
			Fix: "use Linux 7.2"}}}
		reason, fix := r.gateZeroCopy(f, stream.Counters{ZeroCopyBytes: 100 - c.copied, CopiedBytes: c.copied},
			new(wire.EndResult))
		if reason != c.say || (fix == "use Linux 7.2") != (reason != "") {
			t.Errorf("%+v: %q; fix %q", c, reason, fix)
		}
	}
}

func TestVerdictOf(t *testing.T) {
	u := fmt.Errorf("wrapped: %w", &fault.Unsupported{Mode: "m", Op: "o"})
	if verdictOf(u) != results.Unsupported || verdictOf(stream.ErrAborted) != results.Failed {
		t.Error("unsupported is not told from failed")
	}
}
