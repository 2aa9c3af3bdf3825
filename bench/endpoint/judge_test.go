// SPDX-License-Identifier: MIT

package endpoint

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/fault"

	"golang.org/x/sys/unix"

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

func TestVerdictOf(t *testing.T) {
	u := fmt.Errorf("wrapped: %w", &fault.Unsupported{Mode: "m", Op: "o"})
	if (&run{}).verdictOf(u) != results.Unsupported || (&run{}).verdictOf(stream.ErrAborted) != results.Failed {
		t.Error("unsupported is not told from failed")
	}
}
