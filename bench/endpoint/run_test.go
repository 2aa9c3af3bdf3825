// SPDX-License-Identifier: MIT

package endpoint

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
)

// sendForEver is a sender that sends until its connection breaks, or halt.
func sendForEver(t testing.TB, e *End) (c *stream.Conn, halt func()) {
	t.Helper()
	p := streamtest.Payload(t, mib)
	c = dialTo(t, e, p, 0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		sendMessages(c, p, 1<<40)
	}()
	halt = func() { c.Stop(); <-done }
	t.Cleanup(halt)
	return c, halt
}

// sendMessages sends n messages, or until c stops or breaks, and returns how many
// bytes that were.
func sendMessages(c *stream.Conn, p *stream.Payload, n int) (sent uint64) {
	var w sock.Waiter
	for k := range uint64(n) {
		for rest := p.Message(k); len(rest) > 0; {
			if c.Stopping() {
				return sent
			}
			n, errno := sock.Send(c.FD, rest, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
			switch errno {
			case 0:
				rest = rest[n:]
				sent += uint64(n)
			case unix.EAGAIN:
				w.Wait(c.FD, unix.POLLOUT, 50)
			default:
				return sent
			}
		}
	}
	return sent
}

// reset closes c so that the peer gets a reset.
func reset(t testing.TB, c *stream.Conn) {
	t.Helper()
	if err := unix.SetsockoptLinger(c.FD, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}); err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// failed checks the result of a flow that broke.
func failed(t testing.TB, r wire.EndResult, say ...string) {
	t.Helper()
	if r.Verdict != results.Failed || strings.Contains(r.Reason, "\n") {
		t.Errorf("%s %q", r.Verdict, r.Reason)
	}
	for _, s := range say {
		if !strings.Contains(r.Reason+"; "+r.Fix, s) {
			t.Errorf("reason %q, fix %q: nothing of %q", r.Reason, r.Fix, s)
		}
	}
}

func TestReceiverGoesAwayMidFlow(t *testing.T) {
	for _, tx := range runnable(t, stream.TX) {
		for name, leave := range map[string]func(testing.TB, *stream.Conn){
			"killed": func(_ testing.TB, c *stream.Conn) { c.Close() }, // with payload unread: the kernel resets
			"reset":  reset,
		} {
			p := peerPort(t)
			s := txSpec(tx, mib)
			s.Addr = p.Addr().String()
			e := open(t, s)
			res := background(context.Background(), e, endless())
			c := receiveAt(t, p, stream.Welcome{})
			flows(t, e)
			await.Pause("the socket is full by then", 30*time.Millisecond)
			leave(t, c)
			t.Log(tx, name)
			failed(t, result(t, res), "the receiver broke off")
		}
	}
}

func TestSenderGoesAwayMidFlow(t *testing.T) {
	for _, rx := range runnable(t, stream.RX) {
		r := open(t, rxSpec(rx, mib))
		res := background(context.Background(), r, endless())
		c, halt := sendForEver(t, r)
		flows(t, r)
		halt()
		t.Log(rx, "reset")
		reset(t, c)
		failed(t, result(t, res), "the sender broke off")
	}
}

// The kernel ends the flow of a sender that is killed in good order; that it is
// before its time gives it away.
func TestSenderIsKilledMidFlow(t *testing.T) {
	for _, rx := range runnable(t, stream.RX) {
		for name, sch := range map[string]wire.Schedule{
			"receiver's wish": endless(),
			"sender's wish":   lasting(0),
			"window": {FromNs: 1, ToNs: counter.Monotonic() + int64(time.Hour),
				StopNs: counter.Monotonic() + int64(time.Hour), PeerWaitNs: patience, StallNs: patience},
		} {
			r := open(t, rxSpec(rx, mib))
			res := background(context.Background(), r, sch)
			p := streamtest.Payload(t, mib)
			c := dialTo(t, r, p, time.Hour)
			sendMessages(c, p, 3)
			flows(t, r)
			c.Close()
			t.Log(rx, name)
			failed(t, result(t, res), "ended", "sender")
		}
	}
}

func TestCalledOffIsPromptAndLeavesNothing(t *testing.T) {
	type side struct {
		role stream.Role
		mode string
	}
	var sides []side
	for _, role := range []stream.Role{stream.RX, stream.TX} {
		for _, m := range runnable(t, role) {
			sides = append(sides, side{role, m})
		}
	}
	const size = 8*mib + 1
	for _, a := range sides {
		before := streamtest.Holding(t)
		for phase := range 2 {
			ctx, cancel := context.WithCancelCause(context.Background())
			e, stop := aborted(t, a.role, a.mode, size, ctx, phase == 1)
			await.Pause("it waits by then", 30*time.Millisecond)
			cancel(stream.ErrAborted)
			r := result(t, e.res)
			if t.Log(a, phase); r.Reason != stream.ErrAborted.Error() && phase == 1 {
				t.Errorf("%v: %q", a, r.Reason)
			}
			failed(t, r, "aborted")
			closeEnd(t, e.end)
			stop()
		}
		streamtest.NoMore(t, before, size)
	}
}

type running struct {
	end *End
	res <-chan wire.EndResult
}

// aborted is an end that runs, alone or with a flow; stop ends its peer.
func aborted(t testing.TB, role stream.Role, mode string, size int, ctx context.Context, flow bool) (running, func()) {
	t.Helper()
	spec := rxSpec(mode, size)
	var port *stream.Port
	if role == stream.TX {
		spec = txSpec(mode, size)
		port, _ = stream.Listen(loop, cookie, sock.Options{})
		spec.Addr = port.Addr().String()
	}
	e, err := Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	out := running{e, background(ctx, e, endless())}
	if role == stream.TX {
		if !flow {
			return out, func() { port.Close() }
		}
		c, _, err := port.Accept(await.Context(t))
		if err != nil {
			t.Fatal(err)
		}
		c.Welcome(stream.Welcome{})
		flows(t, e) // the buffers fill: a sender that waits
		return out, func() { c.Close(); port.Close() }
	}
	if !flow {
		return out, func() {}
	}
	p, err := stream.NewPayload(mib)
	if err != nil {
		t.Fatal(err)
	}
	c := dialTo(t, e, p, 0)
	done := make(chan struct{})
	go func() { sendMessages(c, p, 1<<40); close(done) }()
	flows(t, e)
	return out, func() { c.Abort(); <-done; c.Close(); p.Close() }
}

func TestStall(t *testing.T) {
	for _, c := range []struct {
		name  string
		sends int
	}{{"hello and nothing more", 0}, {"some messages and nothing more", 3}} {
		for _, rx := range runnable(t, stream.RX) {
			t.Run(rx+", "+c.name, func(t *testing.T) {
				t.Parallel() // it waits
				p := streamtest.Payload(t, 64*kib)
				want := uint64(c.sends * 64 * kib)
				// Where others keep the CPUs for so long, the messages are not all taken before.
				for limit := 400 * time.Millisecond; ; limit *= 2 {
					r := open(t, rxSpec(rx, mib))
					sch := endless()
					sch.StallNs = int64(limit)
					res := background(context.Background(), r, sch)
					conn := dialTo(t, r, p, 0)
					sendMessages(conn, p, c.sends)
					got := result(t, res)
					failed(t, got, fmt.Sprintf("no payload for %v", limit), "check the link")
					if got.FlowNs < int64(limit) {
						t.Errorf("noticed after %v", time.Duration(got.FlowNs))
					}
					if got.Total.Bytes == want {
						break
					}
					if t.Logf("%d of %d bytes", got.Total.Bytes, want); got.Total.Bytes > want || limit > time.Minute {
						t.Fatalf("%d bytes, not %d", got.Total.Bytes, want)
					}
				}
			})
		}
	}
}

func TestSenderStalls(t *testing.T) {
	for _, tx := range runnable(t, stream.TX) {
		t.Run(tx, func(t *testing.T) {
			t.Parallel() // it waits
			p := peerPort(t)
			s := txSpec(tx, mib)
			s.Addr = p.Addr().String()
			sch := endless()
			sch.StallNs = 400 * ms
			res := background(context.Background(), open(t, s), sch)
			receiveAt(t, p, stream.Welcome{}) // and never reads
			failed(t, result(t, res), "no payload for 400ms")
		})
	}
}

// sendBad sends n bytes of the pattern with the byte at flow position bad wrong,
// ends the flow after its time and takes the farewell.
func sendBad(t testing.TB, e *End, n, bad int, d time.Duration) stream.Farewell {
	t.Helper()
	p := streamtest.Payload(t, n)
	c := dialTo(t, e, p, d)
	if bad >= 0 {
		p.Message(0)[bad] ^= 0x10
	}
	sendMessages(c, p, 1)
	await.Pause("the flow's time, which the receiver has begun before the welcome", d)
	if err := c.EndOfSend(); err != nil {
		t.Fatal(err)
	}
	f, err := c.ReadFarewell(await.Deadline())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOneWrongByteIsFoundByEveryMode(t *testing.T) {
	const n = 3*mib + 77
	for _, rx := range runnable(t, stream.RX) {
		m, _ := modes.Find(stream.RX, rx)
		if m.Has(stream.NoPayload) {
			continue
		}
		for _, bad := range []int{-1, 0, 4095, 256 * kib, 2*mib + 12345, n - 1} {
			r := open(t, rxSpec(rx, mib))
			res := background(context.Background(), r, lasting(0))
			f := sendBad(t, r, n, bad, 50*time.Millisecond)
			got := result(t, res)
			if bad < 0 {
				if got.Verdict != results.OK || f != (stream.Farewell{Bytes: n, Verified: true}) {
					t.Errorf("%s: nothing wrong: %s %q, %+v", rx, got.Verdict, got.Reason, f)
				}
				continue
			}
			if got.Verdict != results.Invalid || got.Total.Mismatches != 1 ||
				got.Total.FirstMismatch != uint64(bad)+1 || f.Mismatches != 1 {
				t.Errorf("%s: byte %d: %s %q, %+v, farewell %+v", rx, bad, got.Verdict, got.Reason, got.Total, f)
			}
			if want := "1 payload bytes are wrong, the first at flow position"; !strings.Contains(got.Reason,
				want) || got.Fix == "" {
				t.Errorf("%s: %q; fix %q", rx, got.Reason, got.Fix)
			}
		}
	}
}

// A flow that went on beyond an edge of the window did not end before its time,
// however late this end gets to look.
func TestLateLookIsNoEarlyEnd(t *testing.T) {
	broken := flowResult{atNs: 200, err: unix.ECONNRESET}
	for _, x := range []struct {
		name   string
		result flowResult
		ns     int64
		want   error
	}{
		{"late", flowResult{atNs: 200}, 100, nil},
		{"early", flowResult{atNs: 200}, 300, errEndedEarly},
		{"broken", broken, 100, errEndedEarly},
	} {
		r := &run{end: newEnd(wire.EndSpec{Flows: wire.OneFlow(-1)}, stream.Mode{}, stream.Options{}), left: 1}
		r.book(x.result)
		if err := r.pass(t.Context(), x.ns); err != x.want {
			t.Errorf("%s: %v, want %v", x.name, err, x.want)
		}
	}
}

// The series of a long run on many CPUs fit into an answer.
func TestSampleInterval(t *testing.T) {
	const wish = 20 * time.Millisecond
	for _, c := range []struct {
		length time.Duration
		cpus   int
		longer bool
	}{
		{time.Minute, 4, false}, {30 * time.Minute, 1, false},
		{30 * time.Minute, 512, true}, {24 * time.Hour, 1 << 13, true},
	} {
		got := sampleInterval(wish, c.length, c.cpus)
		if got < wish || (got > wish) != c.longer {
			t.Errorf("%v, %d CPUs: every %v", c.length, c.cpus, got)
		}
		const point = 40 // bytes: 1800000000000,0.12345678901234567 and two commas
		if n := int(c.length/got) * (c.cpus + 2); n*point*5/4 > wire.MaxLine {
			t.Errorf("%v, %d CPUs: %d points", c.length, c.cpus, n)
		}
	}
}
