// SPDX-License-Identifier: MIT

package modes

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/await"
)

const messageBytes = 128 << 10

// each runs f for every mode of a role that this kernel has, one that uses
// io_uring with every engine that is built in. Senders that wait for answers have tests of their
// own (package baseline).
func each(t *testing.T, role stream.Role, f func(*testing.T, stream.Mode)) {
	for _, p := range All {
		// those of packets have a contract of their own
		if p.Role != role || p.Kind != stream.Stream || p.Has(stream.RoundTrips) {
			continue
		}
		for _, q := range engines(p) {
			t.Run(fmt.Sprintf("%s/%s", role, q.Name), func(t *testing.T) {
				if err := p.Support("lo"); err != nil {
					t.Skip(err)
				}
				f(t, q)
			})
		}
	}
}

// engines are a path as it is, and with the io_uring engines that are not the
// default.
func engines(p stream.Mode) []stream.Mode {
	all := []stream.Mode{p}
	for _, e := range uring.Engines()[1:] {
		if !p.Has(stream.UsesRing) {
			break
		}
		q := p
		q.Name += "@" + string(e)
		if p.NewReceiver != nil {
			q.NewReceiver = func(o stream.Options) (stream.Receiver, error) {
				o.UringEngine = string(e)
				return p.NewReceiver(o)
			}
		} else {
			q.NewSender = func(o stream.Options) (stream.Sender, error) {
				o.UringEngine = string(e)
				return p.NewSender(o)
			}
		}
		all = append(all, q)
	}
	return all
}

// A path that uses io_uring says which engine served it: the one asked for.
func TestEvidenceNamesTheEngine(t *testing.T) {
	for _, role := range []stream.Role{stream.RX, stream.TX} {
		each(t, role, func(t *testing.T, p stream.Mode) {
			want := ""
			if _, engine, other := strings.Cut(p.Name, "@"); other {
				want = engine
			} else if p.Has(stream.UsesRing) {
				want = string(uring.Native)
			}
			err := <-onThread(func() error {
				var path interface{ Close() error }
				var err error
				if role == stream.RX {
					path, err = p.NewReceiver(stream.Options{MessageBytes: messageBytes})
				} else {
					path, err = p.NewSender(stream.Options{MessageBytes: messageBytes})
				}
				if err != nil {
					return err
				}
				defer path.Close()
				got := ""
				if w, ok := path.(stream.Witness); ok {
					got = w.Evidence().UringEngine
				}
				if got != want {
					return fmt.Errorf("served by the engine %q, asked for %q", got, want)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// onThread runs f on a locked thread of its own, as the contract wants it, and
// gives its error.
func onThread(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		done <- f()
	}()
	return done
}

func ended(t testing.TB, done <-chan error) error {
	t.Helper()
	return await.Chan(t, "the path's return", done)
}

func until(t testing.TB, ok func() bool) {
	t.Helper()
	await.Until(t, "calls or payload of the path", ok)
}

// receive runs a receive path on c.
func receive(p stream.Mode, o stream.Options, c *stream.Conn, h stream.Hello, m *stream.Meter) <-chan error {
	return receiveAfter(p, o, c, h, m, func() {})
}

// receiveAfter is receive that calls attached when it is about to wait for payload.
func receiveAfter(p stream.Mode, o stream.Options, c *stream.Conn, h stream.Hello, m *stream.Meter,
	attached func()) <-chan error {
	return onThread(func() error {
		r, err := p.NewReceiver(o)
		if err != nil {
			return err
		}
		defer r.Close()
		if err := r.Attach(c, h); err != nil {
			return err
		}
		attached()
		err = r.Receive(c, m)
		return errors.Join(err, r.Close()) // and once more, deferred
	})
}

func send(p stream.Mode, o stream.Options, c *stream.Conn, payload *stream.Payload, m *stream.Meter) <-chan error {
	return onThread(func() error {
		s, err := p.NewSender(o)
		if err != nil {
			return err
		}
		defer s.Close()
		err = s.Send(c, payload, m)
		return errors.Join(err, s.Close())
	})
}

// pump sends until told to stop; it does not allocate.
func pump(c *stream.Conn, p *stream.Payload) {
	var w sock.Waiter
	for !c.Stopping() {
		switch _, errno := sock.Send(c.FD, p.Message(0), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); errno {
		case 0:
		case unix.EAGAIN:
			w.Wait(c.FD, unix.POLLOUT, 50)
		default:
			return
		}
	}
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// allocatesNothing lets 3000 calls of a path pass and looks at the heap.
func allocatesNothing(t *testing.T, m *stream.Meter) {
	t.Helper()
	calls := func() uint64 { return m.Snapshot().Calls }
	until(t, func() bool { return calls() > 100 })
	runtime.GC()
	c0, n0 := calls(), mallocs()
	until(t, func() bool { return calls() > c0+3000 })
	n, c := mallocs()-n0, calls()-c0
	// The runtime itself allocates now and then, whatever the number of calls.
	if n > c/50 {
		t.Errorf("%d allocations in %d calls", n, c)
	}
}

func TestReceiveDoesNotAllocate(t *testing.T) {
	each(t, stream.RX, func(t *testing.T, p stream.Mode) {
		payload, m := streamtest.Payload(t, messageBytes), new(stream.Meter)
		rx, tx, h := streamtest.Flow(t, payload, sock.Options{})
		// Small reads make many calls; the pattern is not that of the position.
		done := receive(p, stream.Options{MessageBytes: messageBytes, ReadBytes: 4096, Touch: stream.TouchRead}, rx,
			h, m)
		pumped := onThread(func() error { pump(tx, payload); return nil })
		allocatesNothing(t, m)
		tx.Stop()
		<-pumped
		tx.EndOfSend()
		if err := ended(t, done); err != nil {
			t.Error(err)
		}
	})
}

func TestSendDoesNotAllocate(t *testing.T) {
	each(t, stream.TX, func(t *testing.T, p stream.Mode) {
		payload, m := streamtest.Payload(t, 4096), new(stream.Meter)
		rx, tx, _ := streamtest.Flow(t, payload, sock.Options{ZeroCopy: true})
		drained := streamtest.Sink(rx)
		done := send(p, stream.Options{MessageBytes: 4096}, tx, payload, m)
		allocatesNothing(t, m)
		tx.Stop()
		if err := ended(t, done); err != nil {
			t.Error(err)
		}
		tx.EndOfSend()
		<-drained
	})
}

// Send returns when the kernel has let go of all memory, with every zero-copied
// or copied byte accounted for.
func TestSendAccountsForEveryByte(t *testing.T) {
	each(t, stream.TX, func(t *testing.T, p stream.Mode) {
		payload, m := streamtest.Payload(t, messageBytes+1), new(stream.Meter)
		rx, tx, _ := streamtest.Flow(t, payload, sock.Options{ZeroCopy: true, SndBuf: 256 << 10})
		drained := streamtest.Sink(rx)
		done := send(p, stream.Options{MessageBytes: messageBytes + 1}, tx, payload, m)
		until(t, func() bool { return m.Snapshot().Bytes > 50<<20 })
		tx.Stop()
		if err := ended(t, done); err != nil {
			t.Fatal(err)
		}
		if c := m.Snapshot(); p.Has(stream.ZeroCopy) && c.ZeroCopyBytes+c.CopiedBytes != c.Bytes {
			t.Errorf("%d bytes sent, %d zero-copied, %d copied", c.Bytes, c.ZeroCopyBytes, c.CopiedBytes)
		}
		tx.EndOfSend()
		<-drained
	})
}

func TestPathsEndOnAbort(t *testing.T) {
	each(t, stream.RX, func(t *testing.T, p stream.Mode) {
		payload := streamtest.Payload(t, messageBytes)
		rx, _, h := streamtest.Flow(t, payload, sock.Options{})
		attached := make(chan struct{})
		done := receiveAfter(p, stream.Options{MessageBytes: messageBytes}, rx, h, new(stream.Meter),
			func() { close(attached) })
		select {
		case <-attached:
		case err := <-done:
			t.Fatal(err)
		}
		await.Pause("it waits for payload by then", 20*time.Millisecond)
		rx.Abort()
		if err := ended(t, done); !errors.Is(err, stream.ErrAborted) {
			t.Error(err)
		}
	})
	each(t, stream.TX, func(t *testing.T, p stream.Mode) {
		payload, m := streamtest.Payload(t, messageBytes), new(stream.Meter)
		_, tx, _ := streamtest.Flow(t, payload, sock.Options{ZeroCopy: true})
		done := send(p, stream.Options{MessageBytes: messageBytes}, tx, payload, m) // nobody reads
		until(t, func() bool { return m.Snapshot().Bytes > 0 })
		await.Pause("the socket is full by then, and it waits", 50*time.Millisecond)
		tx.Abort()
		if err := ended(t, done); !errors.Is(err, stream.ErrAborted) {
			t.Error(err)
		}
	})
}

// withEngines are the modes that can run, with every engine.
func withEngines(want func(stream.Mode) bool) (all []stream.Mode) {
	for _, p := range All {
		if want(p) && p.Kind == stream.Stream && p.Support("lo") == nil {
			all = append(all, engines(p)...)
		}
	}
	return all
}

// An operation is one message of 128 KiB.
func BenchmarkReceive(b *testing.B) {
	for _, p := range withEngines(func(p stream.Mode) bool { return p.NewReceiver != nil }) {
		b.Run(p.Name, func(b *testing.B) {
			payload, m := streamtest.Payload(b, messageBytes), new(stream.Meter)
			rx, tx, h := streamtest.Flow(b, payload, sock.Options{})
			done := receive(p, stream.Options{MessageBytes: messageBytes}, rx, h, m)
			pumped := onThread(func() error { pump(tx, payload); return nil })
			measure(b, m)
			tx.Stop()
			<-pumped
			tx.EndOfSend()
			if err := ended(b, done); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func BenchmarkSend(b *testing.B) {
	for _, p := range withEngines(func(p stream.Mode) bool { return p.NewSender != nil }) {
		b.Run(p.Name, func(b *testing.B) {
			payload, m := streamtest.Payload(b, messageBytes), new(stream.Meter)
			rx, tx, _ := streamtest.Flow(b, payload, sock.Options{ZeroCopy: true})
			drained := streamtest.Sink(rx)
			done := send(p, stream.Options{MessageBytes: messageBytes}, tx, payload, m)
			measure(b, m)
			tx.Stop()
			if err := ended(b, done); err != nil {
				b.Fatal(err)
			}
			tx.EndOfSend()
			<-drained
		})
	}
}

// measure lets b.N messages pass at m.
func measure(b *testing.B, m *stream.Meter) {
	bytes := func() uint64 { return m.Snapshot().Bytes }
	until(b, func() bool { return bytes() > 0 })
	b.SetBytes(messageBytes)
	b.ReportAllocs()
	b.ResetTimer()
	c0 := m.Snapshot()
	for target := c0.Bytes + uint64(b.N)*messageBytes; bytes() < target; {
		time.Sleep(50 * time.Microsecond)
	}
	b.StopTimer()
	b.ReportMetric(float64(m.Snapshot().Calls-c0.Calls)/float64(b.N), "calls/op")
}
