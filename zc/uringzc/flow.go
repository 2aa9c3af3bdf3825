// SPDX-License-Identifier: MIT

package uringzc

import (
	"fmt"
	"slices"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

const (
	// window is how many requests may be without their notification.
	window = 256
	// maxRegister is the most that the kernel takes as one registered buffer
	// (io_uring/rsrc.c, io_buffer_validate).
	maxRegister = 1 << 30
	// waitTime bounds one sleep, so that an aborted run is noticed.
	waitTime = 100 * time.Millisecond
	// drainTime is how long the last notifications may take without progress.
	drainTime = 10 * time.Second
)

// flow sends from registered memory with SEND_ZC, one request in flight and up to window
// notifications owed.
type flow struct {
	ring  *uring.Ring
	mem   []byte
	chunk int // bytes of each registered buffer

	next, oldest uint64         // numbers of requests: the next, and the oldest that the kernel holds memory of
	size         [window]uint32 // bytes of request n, at n % window
	gone         [window]bool   // of those from the oldest on: the kernel has let go
	letGo        uint64         // bytes of those before it

	fate   Fates
	moved  int // result of the request in flight
	errno  unix.Errno
	flying bool
}

// newFlow makes the ring, owned by the calling thread.
func newFlow(o stream.Options) (*flow, error) {
	ring, err := uring.NewBest(uring.Options{Engine: uring.Engine(o.UringEngine), SQEntries: 8, CQEntries: 4 * window,
		SingleIssuer: true, DeferTaskrun: true, SubmitAll: true, RegisterFD: true})
	if err != nil {
		return nil, &fault.Unsupported{Mode: "uring-zc", Op: "make a ring", Err: err, How: fault.Fix(err)}
	}
	return &flow{ring: ring, chunk: maxRegister}, nil
}

// register makes memory what is sent from.
func (f *flow) register(mem []byte) error {
	f.mem = mem
	if err := f.ring.RegisterBuffers(slices.Collect(slices.Chunk(mem, f.chunk))); err != nil {
		return &fault.Unsupported{Mode: "uring-zc", Op: fmt.Sprintf("register %d bytes of payload", len(mem)),
			Err: err, How: fault.Fix(err)}
	}
	return nil
}

// pending is how many requests the kernel holds memory of.
func (f *flow) pending() int { return int(f.next - f.oldest) }

// send sends as much of n bytes at off as the socket takes at once, and as lie in one registered
// buffer. It returns 0 when a notification had to be waited for, or where the socket has no room
// and flags say not to wait.
func (f *flow) send(c *stream.Conn, off, n, flags int, m *stream.Meter) (int, error) {
	if f.pending() == window {
		if err := f.take(m); err != nil {
			return 0, stream.SendError(c, "io_uring_enter", err)
		}
		return 0, nil
	}
	index := off / f.chunk
	n = min(n, (index+1)*f.chunk-off)
	slot := f.next % window
	f.next++
	f.ring.GetSQE().SendZCFixed(c.FD, index, f.mem[off:off+n], unix.MSG_NOSIGNAL|flags, true, slot)
	for f.flying = true; f.flying; {
		if err := f.take(m); err != nil {
			return 0, stream.SendError(c, "io_uring_enter", err)
		}
	}
	switch f.errno {
	case 0:
		m.Bytes(f.moved)
		return f.moved, nil
	case unix.EINTR, unix.EAGAIN:
		return 0, nil
	}
	return 0, stream.SendError(c, "io_uring send_zc", f.errno)
}

// take waits for completions if there are none and handles all that are there.
func (f *flow) take(m *stream.Meter) error {
	if f.ring.CQReady() == 0 {
		m.Call()
		if _, err := f.ring.SubmitAndGetEvents(); err != nil {
			return err
		}
	}
	if f.ring.CQReady() == 0 {
		m.Wait()
		if _, err := f.ring.SubmitAndWait(1, waitTime); err != nil {
			return err
		}
	}
	n := f.ring.CQReady()
	for i := range n {
		f.handle(*f.ring.CQEAt(i), m)
	}
	f.ring.Advance(n)
	return nil
}

// handle books one completion: the request's own, or its notification.
func (f *flow) handle(cqe uring.CQE, m *stream.Meter) {
	slot := cqe.UserData
	if !cqe.Notif() {
		f.flying = false
		f.moved, f.errno = int(max(cqe.Res, 0)), cqe.Errno()
		f.size[slot] = uint32(f.moved)
		if cqe.More() {
			return // the kernel lets go with its notification
		}
	} else if size := uint64(f.size[slot]); size > 0 { // else it sent nothing
		switch f.fate.Of(size, cqe.Copied()) {
		case Copied:
			m.Copied(size)
		case Sent:
			m.ZeroCopy(size)
		}
		m.Completion(1, cqe.Copied())
	}
	f.gone[slot] = true
	for ; f.oldest < f.next && f.gone[f.oldest%window]; f.oldest++ {
		f.gone[f.oldest%window] = false
		f.letGo += uint64(f.size[f.oldest%window])
	}
}

// drain waits for the notifications still owed, unless the flow is broken.
func (f *flow) drain(c *stream.Conn, m *stream.Meter, broken bool) error {
	last, left := time.Now(), f.pending()
	for f.pending() > 0 && !broken && c.Aborted() == nil {
		if err := f.take(m); err != nil {
			return err
		}
		if f.pending() < left {
			last, left = time.Now(), f.pending()
		}
		if time.Since(last) > drainTime {
			return fmt.Errorf("%d SEND_ZC notifications missing after %v", f.pending(), drainTime)
		}
	}
	return nil
}

// Close closes the ring, which unpins the memory.
func (f *flow) Close() error { return f.ring.Close() }
