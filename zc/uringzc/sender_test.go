// SPDX-License-Identifier: MIT

package uringzc

import (
	"runtime"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
	"golang.org/x/sys/unix"
)

func newSender(t *testing.T, engine string) *sender {
	t.Helper()
	if err := probe(); err != nil {
		t.Skip(err)
	}
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	s, err := New(stream.Options{UringEngine: engine})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// A peer that does not read keeps the kernel from notifying: the sender goes no
// further than its window, and the kernel has let go of all in the end.
func TestWindowOfNotifications(t *testing.T) { streamtest.EachEngine(t, testWindowOfNotifications) }

func testWindowOfNotifications(t *testing.T, engine string) {
	s := newSender(t, engine)
	p, m := streamtest.Payload(t, 1000), new(stream.Meter)
	// Room for more messages than the window.
	rx, tx, _ := streamtest.Flow(t, p, sock.Options{SndBuf: 4 << 20, RcvBuf: 4 << 20})
	drained := make(chan (<-chan struct{}), 1)
	go func() {
		if c := awaitStuck(t, m); c.Bytes == 0 || c.Bytes/1000-c.Completions > window {
			t.Errorf("%d messages with %d notifications exceed the window", c.Bytes/1000, c.Completions)
		}
		tx.Stop()
		drained <- streamtest.Sink(rx)
	}()
	if err := s.Send(tx, p, m); err != nil {
		t.Fatal(err)
	}
	tx.EndOfSend()
	<-<-drained
	c := m.Snapshot()
	if s.pending() != 0 || s.letGo != c.Bytes || c.ZeroCopyBytes+c.CopiedBytes != c.Bytes ||
		c.Completions < c.Bytes/1000 {
		t.Errorf("%d pending, %d bytes let go, %+v", s.pending(), s.letGo, c)
	}
}

// awaitStuck waits until the sender has slept and woken three times without sending.
func awaitStuck(t *testing.T, m *stream.Meter) (c stream.Counters) {
	t.Helper()
	from := c
	if !await.So(func() bool {
		if c = m.Snapshot(); c.Bytes == 0 || c.Bytes != from.Bytes {
			from = c
		}
		return c.Waits >= from.Waits+3 || t.Context().Err() != nil
	}) {
		t.Errorf("it is not stuck: %+v", c) // the caller stops it
	}
	return c
}

// The kernel registers a gigabyte at most as one buffer: messages in larger
// memory are sent buffer by buffer, and arrive whole.
func TestMessagesCrossRegisteredBuffers(t *testing.T) {
	streamtest.EachEngine(t, testMessagesCrossRegisteredBuffers)
}

func testMessagesCrossRegisteredBuffers(t *testing.T, engine string) {
	for _, c := range []struct{ message, chunk int }{{300_000, 64 << 10}, {100, 4096}, {5000, 8192}} {
		s := newSender(t, engine)
		s.chunk = c.chunk
		p, sent, got := streamtest.Payload(t, c.message), new(stream.Meter), new(stream.Meter)
		rx, tx, _ := streamtest.Flow(t, p, sock.Options{})
		done := make(chan bool)
		go func() {
			defer close(done)
			var w sock.Waiter
			check := stream.NewToucher(stream.TouchVerify, p.PeriodBytes())
			for b := make([]byte, 1<<20); ; {
				n, errno := sock.Recv(rx.FD, b, unix.MSG_DONTWAIT)
				switch {
				case n > 0 && errno == 0:
					check.Next(b[:n], got)
					if got.Bytes(n); got.Snapshot().Bytes > 4<<20 {
						tx.Stop()
					}
				case errno == unix.EAGAIN:
					w.Wait(rx.FD, unix.POLLIN, 50)
				default:
					return
				}
			}
		}()
		if err := s.Send(tx, p, sent); err != nil {
			t.Fatal(err)
		}
		tx.EndOfSend()
		<-done
		if g := got.Snapshot(); g.Bytes != sent.Snapshot().Bytes || g.Mismatches != 0 {
			t.Errorf("messages of %d in buffers of %d: %d bytes of %d, %d wrong", c.message, c.chunk, g.Bytes,
				sent.Snapshot().Bytes, g.Mismatches)
		}
	}
}

func TestLargestMessage(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a gigabyte")
	}
	s := newSender(t, "")
	p := streamtest.Payload(t, stream.MaxMessageBytes)
	_, tx, _ := streamtest.Flow(t, p, sock.Options{})
	tx.Stop()
	if err := s.Send(tx, p, new(stream.Meter)); err != nil {
		t.Error(err, fault.Fix(err))
	}
}
