// SPDX-License-Identifier: MIT

package endpoint

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/modes"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/results"
)

const (
	ms   = int64(time.Millisecond)
	kib  = 1 << 10
	mib  = 1 << 20
	loop = "127.0.0.1:0"

	// slow is how long an end may take that should take no time: far more than
	// it needs, far less than any of our own time-outs, on a machine that has
	// more to do.
	slow = 2 * time.Second
)

// all lets a zero-copy mode copy everything, as loopback does.
var all = func() wire.Frac { f := 1.0; return &f }()

// short is a schedule for a flow of d that fails rather than hangs.
func short(d time.Duration) wire.Schedule {
	return wire.Schedule{DurationNs: int64(d), PeerWaitNs: 5000 * ms, StallNs: 3000 * ms, GraceNs: 5000 * ms, MaxCopiedFrac: all}
}

var cookie = stream.NewCookie()

func rxSpec(mode string, size int) wire.EndSpec {
	s := wire.EndSpec{Role: stream.RX, Cell: results.Cell{RX: mode, MessageBytes: size, Touch: "verify"}, Addr: loop, Cookie: cookie, Flows: wire.OneFlow(-1)}
	if m, err := stream.LookupMode(stream.RX, mode); err == nil && m.NoPayload {
		s.Cell.Touch = "none"
	}
	return s
}

func txSpec(mode string, size int) wire.EndSpec {
	s := wire.EndSpec{Role: stream.TX, Cell: results.Cell{TX: mode, MessageBytes: size, Congestion: "reno"}, Addr: "127.0.0.1:1", Cookie: cookie, Flows: wire.OneFlow(-1)}
	s.Cell.Drop()
	return s
}

// runnable are the modes of a role that move a stream and that this kernel has, over loopback: of
// senders those whose receiver need not answer.
func runnable(t testing.TB, role stream.Role) []string {
	var names []string
	for _, p := range modes.All() {
		if p.Role != role || p.Kind != stream.Stream || p.RoundTrips {
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
	var wg sync.WaitGroup
	wg.Go(func() { rxRes = r.Run(context.Background(), rxSch) })
	wg.Go(func() { txRes = s.Run(context.Background(), txSch) })
	wg.Wait()
	return rxRes, txRes
}

// background runs e and sends its result.
func background(ctx context.Context, e *End, sch wire.Schedule) <-chan wire.EndResult {
	c := make(chan wire.EndResult, 1)
	go func() { c <- e.Run(ctx, sch) }()
	return c
}

// within is the result if it comes in time.
func within(t testing.TB, c <-chan wire.EndResult, d time.Duration) wire.EndResult {
	t.Helper()
	select {
	case r := <-c:
		return r
	case <-time.After(d):
		t.Fatalf("no result within %v", d)
		panic("not reached")
	}
}

// until waits for something, up to five seconds.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(5 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
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
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c, _, err := p.Accept(ctx)
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
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c, _, err := stream.Dial(ctx, e.Addr().String(), stream.Hello{Cookie: cookie, TXMode: "test", MessageBytes: uint64(p.MessageBytes()),
		PeriodBytes: uint64(p.PeriodBytes()), Duration: wish}, sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
