// SPDX-License-Identifier: MIT

package endpoint

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
)

const (
	ms   = int64(time.Millisecond)
	kib  = 1 << 10
	mib  = 1 << 20
	loop = "127.0.0.1:0"

	// patience is how long the ends wait for each other, and for payload: longer than the tests
	// wait for the ends. So no time-out of theirs ends what another event should have ended.
	patience = int64(2 * await.Hang)
)

// all lets a zero-copy mode copy everything, as loopback does.
var all = func() wire.Frac { f := 1.0; return &f }()

// lasting is a schedule for a flow of d.
func lasting(d time.Duration) wire.Schedule {
	return wire.Schedule{DurationNs: int64(d), PeerWaitNs: patience, StallNs: patience, GraceNs: patience,
		MaxCopiedFrac: all}
}

// endless is a schedule for a flow that something else ends before its time.
func endless() wire.Schedule { return lasting(time.Hour) }

var cookie = stream.NewCookie()

func rxSpec(mode string, size int) wire.EndSpec {
	s := wire.EndSpec{Role: stream.RX, Cell: plan.Cell{RX: mode, MessageBytes: size, Touch: "verify"}, Addr: loop,
		Cookie: cookie, Flows: wire.OneFlow(-1)}
	if m, err := modes.Find(stream.RX, mode); err == nil && m.Has(stream.NoPayload) {
		s.Cell.Touch = "none"
	}
	return s
}

func txSpec(mode string, size int) wire.EndSpec {
	s := wire.EndSpec{Role: stream.TX, Cell: plan.Cell{TX: mode, MessageBytes: size, Congestion: "reno"},
		Addr: "127.0.0.1:1", Cookie: cookie, Flows: wire.OneFlow(-1)}
	s.Cell.Drop()
	return s
}

// runnable are the modes of a role that move a stream and that this kernel has, over loopback: of
// senders those whose receiver need not answer.
func runnable(t testing.TB, role stream.Role) []string {
	var names []string
	for _, p := range modes.All {
		if p.Role != role || p.Kind != stream.Stream || p.Has(stream.RoundTrips) {
			continue
		}
		if err := p.Support("lo"); err != nil {
			t.Logf("without %s mode %s: %v", role, p.Name, err)
			continue
		}
		names = append(names, p.Name)
	}
	return names
}

// open opens an end that is closed with the test, and complains if that fails.
func open(t testing.TB, s wire.EndSpec) *End {
	t.Helper()
	e, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	t.Cleanup(func() { once.Do(func() { closeEnd(t, e) }) })
	return e
}

func closeEnd(t testing.TB, e *End) {
	t.Helper()
	if err := e.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Errorf("close: %v", err)
	}
}

// openBoth opens both ends.
func openBoth(t testing.TB, rx, tx wire.EndSpec) (r, s *End) {
	t.Helper()
	r = open(t, rx)
	tx.Addr = r.Addr().String()
	return r, open(t, tx)
}

// runBoth opens and runs both ends.
func runBoth(t testing.TB, rx, tx wire.EndSpec, rxSch, txSch wire.Schedule) (rxRes, txRes wire.EndResult) {
	t.Helper()
	r, s := openBoth(t, rx, tx)
	return runEnds(t, r, s, rxSch, txSch)
}

// runEnds runs two ends and closes them.
func runEnds(t testing.TB, r, s *End, rxSch, txSch wire.Schedule) (rxRes, txRes wire.EndResult) {
	t.Helper()
	defer closeEnd(t, r)
	defer closeEnd(t, s)
	rx, tx := background(context.Background(), r, rxSch), background(context.Background(), s, txSch)
	return result(t, rx), result(t, tx)
}

// flowUntil opens and runs both ends, and stops the sender when each flow has come so far at both.
// However busy the machine is, there is payload in each.
func flowUntil(t testing.TB, rx, tx wire.EndSpec, far func(stream.Counters) bool) (rxRes, txRes wire.EndResult) {
	t.Helper()
	r, s := openBoth(t, rx, tx)
	defer closeEnd(t, r)
	defer closeEnd(t, s)
	got, sent := begin(t, r, s)
	until(t, "payload of each flow", func() bool {
		return len(got)+len(sent) > 0 || !slices.ContainsFunc(slices.Concat(r.flows, s.flows),
			func(f *flow) bool { return !far(f.Meter.Snapshot()) })
	})
	if len(got)+len(sent) == 0 { // none has failed
		s.stop()
	}
	return result(t, got), result(t, sent)
}

// begin runs two ends whose flows go on until the sender is stopped.
func begin(t testing.TB, r, s *End) (got, sent <-chan wire.EndResult) {
	t.Helper()
	rx, tx := lasting(0), lasting(0)
	rx.StopNs, tx.StopNs = counter.Monotonic(), counter.Monotonic()+int64(time.Hour)
	return background(context.Background(), r, rx), background(context.Background(), s, tx)
}

// moved is how far a flow is to come that only has to move something.
func moved(n uint64) func(stream.Counters) bool {
	return func(c stream.Counters) bool { return c.Bytes >= n }
}

// trips is so many transactions of each flow.
func trips(n uint64) func(stream.Counters) bool {
	return func(c stream.Counters) bool { return c.Transactions >= n }
}

// background runs e and sends its result.
func background(ctx context.Context, e *End, sch wire.Schedule) <-chan wire.EndResult {
	c := make(chan wire.EndResult, 1)
	go func() { c <- e.Run(ctx, sch) }()
	return c
}

// result waits for that of a run.
func result(t testing.TB, c <-chan wire.EndResult) wire.EndResult {
	t.Helper()
	return await.Chan(t, "the end's result", c)
}

func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	await.Until(t, what, ok)
}

// flows waits until payload passes at e.
func flows(t testing.TB, e *End) {
	t.Helper()
	until(t, "payload", func() bool { return e.Progress() > 0 })
}

// peerPort is a data port for an end that sends, for a test that is the receiver.
func peerPort(t testing.TB) *stream.Port {
	t.Helper()
	p, err := stream.Listen(loop, cookie, sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// receiveAt takes the flow at p.
func receiveAt(t testing.TB, p *stream.Port, w stream.Welcome) *stream.Conn {
	t.Helper()
	c, _, err := p.Accept(await.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.Welcome(w); err != nil {
		t.Fatal(err)
	}
	return c
}

// dialTo is the sending end of a flow to e, for a test that is the sender of a
// payload p.
func dialTo(t testing.TB, e *End, p *stream.Payload, wish time.Duration) *stream.Conn {
	t.Helper()
	c, _, err := stream.Dial(await.Context(t), e.Addr().String(), stream.Hello{Cookie: cookie, TXMode: "test",
		MessageBytes: uint64(p.MessageBytes()),
		PeriodBytes:  uint64(p.PeriodBytes()), Duration: wish}, sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
