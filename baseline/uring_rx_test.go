// SPDX-License-Identifier: MIT

package baseline

import (
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/asleep"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
	"golang.org/x/sys/unix"
)

func needUring(t *testing.T) {
	t.Helper()
	if err := probeUringReceiver(); err != nil {
		t.Skip(err)
	}
	runtime.LockOSThread() // the ring belongs to the thread
	t.Cleanup(runtime.UnlockOSThread)
}

// The buffers cover a message, but not with too few or too many.
func TestUringBuffers(t *testing.T) { streamtest.EachEngine(t, testUringBuffers) }

func testUringBuffers(t *testing.T, engine string) {
	needUring(t)
	for _, c := range []struct{ message, read, n, size int }{
		{1, 0, 4096, 1},
		{4096, 0, 32, 4096},
		{64 << 20, 0, 256, 256 << 10},
		{1 << 20, 1000, 2048, 1000},
		{1 << 20, 1, 4096, 1},
		{100, 1 << 20, 2048, 100},
		{128 << 10, 128 << 10, 8, 128 << 10},
		{1 << 20, 1 << 20, 8, 128 << 10},
	} {
		r, err := NewUringReceiver(stream.Options{UringEngine: engine, MessageBytes: c.message, ReadBytes: c.read})
		if err != nil {
			t.Fatal(err)
		}
		if r.bufs.Entries() != c.n || r.bufs.Size() != c.size {
			t.Errorf("message %d, read %d: %d buffers of %d, not %d of %d", c.message, c.read, r.bufs.Entries(),
				r.bufs.Size(), c.n, c.size)
		}
		for range 2 {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A gather time is kept, or refused where the engine or the kernel cannot.
func TestUringGather(t *testing.T) { streamtest.EachEngine(t, testUringGather) }

func testUringGather(t *testing.T, engine string) {
	needUring(t)
	r, err := NewUringReceiver(stream.Options{UringEngine: engine, MessageBytes: 4096})
	if err != nil {
		t.Fatal(err)
	}
	can := r.ring.Gathers()
	r.Close()
	if can && engine == "giouring" {
		t.Error("giouring has no min_wait_usec")
	}
	r, err = NewUringReceiver(stream.Options{UringEngine: engine, MessageBytes: 4096, Gather: 7 * time.Microsecond})
	if err == nil {
		defer r.Close()
	}
	var u *fault.Unsupported
	if can != (err == nil) || !can && (!errors.As(err, &u) || u.Op != "gather for 7µs") {
		t.Errorf("the ring gathers: %v; %v", can, err)
	}
	if can && !slices.Contains(r.Evidence().Figures, stream.Figure{Name: "gather_us", Unit: "us", Value: 7}) {
		t.Errorf("%+v", r.Evidence().Figures)
	}
}

// More comes at once than there are buffers for: the request ends for want of
// them, is issued again, and nothing is lost, with bundles and without.
func TestUringRunsOutOfBuffers(t *testing.T) { streamtest.EachEngine(t, testUringRunsOutOfBuffers) }

func testUringRunsOutOfBuffers(t *testing.T, engine string) {
	needUring(t)
	const total = 40_000
	for _, bundle := range []bool{true, false} {
		for _, size := range []int{1, 7, 100, 4096} {
			p, m := streamtest.Payload(t, total), new(stream.Meter)
			rx, tx, h := streamtest.Flow(t, p, sock.Options{})
			if n, errno := sock.Send(tx.FD, p.Message(0), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); n != total ||
				errno != 0 {
				t.Fatalf("sent %d: %v", n, errno)
			}
			tx.EndOfSend()
			o := stream.Options{UringEngine: engine, MessageBytes: size, Touch: stream.TouchVerify,
				Gather: time.Microsecond}
			shape := shapeOf(o)
			shape.buffers, shape.size, shape.bundle = minUringBuffers, size, bundle
			r, err := newUringReceiver(o, shape)
			if err != nil { // this engine cannot gather, or no ring before 6.12
				o.Gather = 0
				r, err = newUringReceiver(o, shape)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Attach(rx, h); err != nil {
				t.Fatal(err)
			}
			if err := r.Receive(rx, m); err != nil {
				t.Fatal(err)
			}
			c := m.Snapshot()
			if c.Bytes != total || c.Mismatches != 0 {
				t.Errorf("bundle %v, buffers of %d: %d bytes, %d wrong", bundle, size, c.Bytes, c.Mismatches)
			}
			// The kernel ends a bundle that takes the last buffer without an error.
			if c.Rearms == 0 || !bundle && (c.Overflows == 0 || c.Rearms < c.Overflows) {
				t.Errorf("bundle %v, buffers of %d: %d overflows, %d rearms", bundle, size, c.Overflows, c.Rearms)
			}
			// Payload that is there is not waited for: once at the start, once at the end.
			if n := r.ring.Gathered(); n > 2 {
				t.Errorf("bundle %v, buffers of %d: %d waits let payload gather", bundle, size, n)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A receiver that has taken all there is sleeps, and makes no call but those it sleeps in.
func TestUringReceiverSleepsBetweenBursts(t *testing.T) {
	streamtest.EachEngine(t, testUringReceiverSleepsBetweenBursts)
}

func testUringReceiverSleepsBetweenBursts(t *testing.T, engine string) {
	needUring(t)
	p, m := streamtest.Payload(t, 4096), new(stream.Meter)
	rx, tx, h := streamtest.Flow(t, p, sock.Options{})
	r, err := NewUringReceiver(stream.Options{UringEngine: engine, MessageBytes: 4096, Touch: stream.TouchVerify})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Attach(rx, h); err != nil {
		t.Fatal(err)
	}
	tid := unix.Gettid()
	first, slept := 0, 0 // how often the thread had gone to sleep, after the first call and the last
	done := make(chan struct{})
	go func() {
		defer close(done)
		first = asleep.In(t, tid, unix.SYS_IO_URING_ENTER)
		for k := range uint64(4) {
			await.Pause("a receiver that spins makes many calls meanwhile", 60*time.Millisecond)
			sock.Send(tx.FD, p.Message(k), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
			slept = asleep.In(t, tid, unix.SYS_IO_URING_ENTER)
		}
		tx.EndOfSend()
	}()
	err = r.Receive(rx, m)
	if <-done; err != nil {
		t.Fatal(err)
	}
	// On a busy machine it may sleep for seconds, in more calls.
	if c := m.Snapshot(); c.Bytes != 4*4096 || c.Mismatches != 0 || c.Calls > uint64(slept-first)+50 {
		t.Errorf("%+v: a receiver that spins makes many calls; it went to sleep %d times", c, slept-first)
	}
}
