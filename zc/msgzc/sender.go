// Package msgzc is the send mode msg-zerocopy: send(2) with MSG_ZEROCOPY
// (kernel 4.14, Documentation/networking/msg_zerocopy.rst). The kernel pins the
// application's pages and says on the socket's error queue when it lets go of
// them, and whether it copied after all.
package msgzc

import (
	"errors"
	"fmt"
	"time"

	"github.com/zcbench/zcbench/sock"
	"github.com/zcbench/zcbench/stream"
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

// Sender sends with MSG_ZEROCOPY.
type Sender struct {
	wait  sock.Waiter
	queue sock.ErrQueue

	next    uint32        // number of the next call with MSG_ZEROCOPY
	pending int           // calls without their notification
	size    [slots]uint32 // bytes of call n, at n % slots
}

// New makes a sender. The socket needs sock.Options.ZeroCopy.
func New(stream.Options) (*Sender, error) { return &Sender{}, nil }

// Send sends until c.Stopping, then waits for all notifications.
func (s *Sender) Send(c *stream.Conn, p *stream.Payload, m *stream.Meter) error {
	err := s.sendAll(c, p, m)
	return errors.Join(err, s.drain(c, m, err != nil))
}

func (s *Sender) sendAll(c *stream.Conn, p *stream.Payload, m *stream.Meter) error {
	for k := uint64(0); ; k++ {
		for rest := p.Message(k); len(rest) > 0; {
			if c.Stopping() {
				return c.Aborted()
			}
			n, err := s.sendOne(c, rest, m)
			if err != nil {
				return err
			}
			rest = rest[n:]
		}
	}
}

// sendOne makes one call and takes the notifications that are there.
func (s *Sender) sendOne(c *stream.Conn, p []byte, m *stream.Meter) (int, error) {
	if s.pending >= window {
		return 0, s.await(c, unix.POLLERR, m)
	}
	n, errno := sock.Send(c.FD, p, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL|unix.MSG_ZEROCOPY)
	m.Call()
	switch errno {
	case 0:
		s.size[s.next%slots] = uint32(n)
		s.next++
		s.pending++
		m.Bytes(n)
		if s.pending%16 == 0 { // else the queue would grow until the buffer is full
			return n, s.reap(c, m)
		}
		return n, nil
	case unix.EINTR:
		return 0, nil
	case unix.EAGAIN:
		return 0, s.await(c, unix.POLLOUT, m)
	case unix.ENOBUFS:
		if s.pending > 0 {
			return 0, s.await(c, unix.POLLERR, m)
		}
		return 0, &stream.Error{Op: "send with MSG_ZEROCOPY", Err: errno,
			How: "no memory for a notification or no right to pin pages: sysctl -w net.core.optmem_max=4194304, raise ulimit -l, or run as root"}
	}
	return 0, stream.SendError(c, "send with MSG_ZEROCOPY", errno)
}

// await sleeps until the socket has one of events or a notification, and takes
// the notifications.
func (s *Sender) await(c *stream.Conn, events int16, m *stream.Meter) error {
	s.wait.Wait(c.FD, events, waitMs) // POLLERR is always reported
	m.Wait()
	return s.reap(c, m)
}

// reap takes all notifications that are there.
func (s *Sender) reap(c *stream.Conn, m *stream.Meter) error {
	for {
		n, ok, errno := s.queue.Next(c.FD)
		m.Call()
		switch {
		case errno == unix.EAGAIN:
			return nil
		case errno == unix.EINTR:
		case errno != 0:
			return &stream.Error{Op: "read the error queue", Err: errno}
		case ok:
			if err := s.account(n, m); err != nil {
				return err
			}
		}
	}
}

// account books the calls n.Lo..n.Hi as copied or not.
func (s *Sender) account(n sock.Notification, m *stream.Meter) error {
	calls := n.Hi - n.Lo + 1 // wraps as the kernel's counter does
	if int(calls) > s.pending || calls == 0 {
		return fmt.Errorf("notification for calls %d..%d, but only %d are pending", n.Lo, n.Hi, s.pending)
	}
	s.pending -= int(calls)
	var bytes uint64
	for i := range calls {
		bytes += uint64(s.size[(n.Lo+i)%slots])
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
func (s *Sender) drain(c *stream.Conn, m *stream.Meter, broken bool) error {
	last, left := time.Now(), s.pending
	for s.pending > 0 && !broken && c.Aborted() == nil {
		if err := s.await(c, unix.POLLERR, m); err != nil {
			return err
		}
		if s.pending < left {
			last, left = time.Now(), s.pending
		}
		if time.Since(last) > drainTime {
			return fmt.Errorf("%d MSG_ZEROCOPY notifications missing after %v", s.pending, drainTime)
		}
	}
	return nil
}

// Close does nothing: the kernel unpins with the socket.
func (s *Sender) Close() error { return nil }
