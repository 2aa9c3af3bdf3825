// SPDX-License-Identifier: MIT

package msgzc

import (
	"errors"
	"fmt"
	"time"

	"github.com/zcbench/zcbench/internal/remedy"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"golang.org/x/sys/unix"
)

const (
	// window is how many calls may be without their notification.
	window = 4096
	// slots is the size of the table of call sizes. Notifications of one TCP
	// flow come in order of acknowledgement, so a slot is free long before its
	// turn comes again.
	slots = 16 * window
	// waitMs bounds one sleep, so that an aborted run is noticed.
	waitMs = 100
	// drainTime is how long the last notifications may take without progress.
	drainTime = 10 * time.Second
)

// Flow sends one flow by calls whose memory the kernel lets go of by notification
// on the socket's error queue. It must not be copied after first use.
type Flow struct {
	Op string // names a call in errors
	// Call hands the kernel n bytes at offset off of the payload, without sleeping.
	Call func(fd, off, n int) (int, unix.Errno)
	// Explain names an errno of Call that only its owner knows; nil where it does
	// not.
	Explain func(c *stream.Conn, errno unix.Errno) error

	wait  sock.Waiter
	queue sock.ErrQueue

	next    uint32        // number of the next call with MSG_ZEROCOPY
	pending int           // calls without their notification
	size    [slots]uint32 // bytes of call n, at n % slots
	free    uint32        // the oldest call that the kernel holds memory of
	gone    [slots]bool   // of those after it, which the kernel has let go of
	letGo   uint64        // bytes of the calls before it
}

// LetGo returns of how many bytes the kernel has let go, of those before all that it still holds.
func (f *Flow) LetGo() uint64 { return f.letGo }

// Pass hands the kernel n bytes at offset off of the memory, and sleeps until it has taken all.
func (f *Flow) Pass(c *stream.Conn, off, n int, m *stream.Meter) error {
	for n > 0 {
		if err := c.Aborted(); err != nil {
			return err
		}
		k, err := f.sendOne(c, off, n, m)
		if err != nil {
			return err
		}
		off, n = off+k, n-k
	}
	return nil
}

// Await sleeps until the kernel has let go of something, for a while.
func (f *Flow) Await(c *stream.Conn, m *stream.Meter) error { return f.await(c, unix.POLLERR, m) }

// AwaitRoom also wakes when the socket has room.
func (f *Flow) AwaitRoom(c *stream.Conn, m *stream.Meter) error { return f.await(c, unix.POLLOUT, m) }

// Drain waits until the kernel has let go of everything.
func (f *Flow) Drain(c *stream.Conn, m *stream.Meter) error { return f.drain(c, m, false) }

// Send sends until c.Stopping, then waits for all notifications.
func (f *Flow) Send(c *stream.Conn, p *stream.Payload, m *stream.Meter) error {
	err := f.sendAll(c, p, m)
	return errors.Join(err, f.drain(c, m, err != nil))
}

func (f *Flow) sendAll(c *stream.Conn, p *stream.Payload, m *stream.Meter) error {
	for k := uint64(0); ; k++ {
		for off, end := p.Offset(k), p.Offset(k)+p.MessageBytes(); off < end; {
			if c.Stopping() {
				return c.Aborted()
			}
			part := c.Pace.Allow(m, end-off)
			if part == 0 {
				continue
			}
			n, err := f.sendOne(c, off, part, m)
			if err != nil {
				return err
			}
			off += n
		}
	}
}

// sendOne makes one call, or waits until another one can be made.
func (f *Flow) sendOne(c *stream.Conn, off, want int, m *stream.Meter) (int, error) {
	n, until, err := f.try(c, off, want, m)
	if err == nil && until != 0 {
		err = f.await(c, until, m)
	}
	return n, err
}

// Offer hands the kernel at most so many bytes, and does not wait for room: 0 is none. Only while
// the kernel holds as many calls as may be, it sleeps for a while.
func (f *Flow) Offer(c *stream.Conn, off, want int, m *stream.Meter) (int, error) {
	n, until, err := f.try(c, off, want, m)
	if err == nil && until == unix.POLLERR {
		err = f.await(c, until, m)
	}
	return n, err
}

// try makes one call, unless the kernel holds as many as may be, and takes the notifications that
// are there. until is the event after which another one may be made; 0: now.
func (f *Flow) try(c *stream.Conn, off, want int, m *stream.Meter) (n int, until int16, err error) {
	if f.pending >= window {
		return 0, unix.POLLERR, nil
	}
	n, errno := f.Call(c.FD, off, want)
	m.Call()
	switch errno {
	case 0:
		f.size[f.next%slots] = uint32(n)
		f.next++
		f.pending++
		m.Bytes(n)
		if f.pending%16 == 0 { // else the queue would grow until the buffer is full
			return n, 0, f.Reap(c, m)
		}
		return n, 0, nil
	case unix.EINTR:
		return 0, 0, nil
	case unix.EAGAIN:
		return 0, unix.POLLOUT, nil
	case unix.ENOBUFS:
		if f.pending > 0 {
			return 0, unix.POLLERR, nil
		}
		return 0, 0, remedy.Error(remedy.SendZeroCopy, f.Op, errno, remedy.On{FD: c.FD})
	}
	if f.Explain != nil {
		if err := f.Explain(c, errno); err != nil {
			return 0, 0, err
		}
	}
	return 0, 0, stream.SendError(c, f.Op, errno)
}

// await sleeps until the socket has one of events or a notification, and takes
// the notifications.
func (f *Flow) await(c *stream.Conn, events int16, m *stream.Meter) error {
	f.wait.Wait(c.FD, events, waitMs) // POLLERR is always reported
	m.Wait()
	return f.Reap(c, m)
}

// Reap takes all notifications that are there.
func (f *Flow) Reap(c *stream.Conn, m *stream.Meter) error {
	for f.pending > 0 {
		n, ok, errno := f.queue.Next(c.FD)
		m.Call()
		switch {
		case errno == unix.EAGAIN:
			return nil
		case errno == unix.EINTR:
		case errno != 0:
			return stream.SendError(c, "read the error queue", errno)
		case ok:
			if err := f.account(n, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// account books the calls n.Lo..n.Hi as copied or not.
func (f *Flow) account(n sock.Notification, m *stream.Meter) error {
	calls := n.Hi - n.Lo + 1 // wraps as the kernel's counter does
	if int(calls) > f.pending || calls == 0 {
		return fmt.Errorf("notification for calls %d..%d, but only %d are pending", n.Lo, n.Hi, f.pending)
	}
	f.pending -= int(calls)
	var bytes uint64
	for i := range calls {
		bytes += uint64(f.size[(n.Lo+i)%slots])
		f.gone[(n.Lo+i)%slots] = true
	}
	for ; f.gone[f.free%slots]; f.free++ {
		f.gone[f.free%slots] = false
		f.letGo += uint64(f.size[f.free%slots])
	}
	if n.Copied {
		m.Copied(bytes)
	} else {
		m.ZeroCopy(bytes)
	}
	m.Completion(uint64(calls), n.Copied)
	return nil
}

// drain waits for the notifications still owed, unless the flow is broken.
func (f *Flow) drain(c *stream.Conn, m *stream.Meter, broken bool) error {
	last, left := time.Now(), f.pending
	for f.pending > 0 && !broken && c.Aborted() == nil {
		if err := f.await(c, unix.POLLERR, m); err != nil {
			return err
		}
		if f.pending < left {
			last, left = time.Now(), f.pending
		}
		if time.Since(last) > drainTime {
			return fmt.Errorf("%d MSG_ZEROCOPY notifications missing after %v", f.pending, drainTime)
		}
	}
	return nil
}
