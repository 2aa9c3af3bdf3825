// SPDX-License-Identifier: MIT

package baseline

import (
	"time"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// With one connection at a time each call may wait for what it is for: that is two sleeps, and
// nothing that has to hear of many.

// lookEvery is how many visits there are until it is looked whether the flow goes on.
const lookEvery = 256

// sendOneByOne makes visits, one after the other, until c.Stopping.
func (s *crrSender) sendOneByOne(c *stream.Conn, t *stream.Visits, p *stream.Payload, m *stream.Meter) error {
	s.flags = 0
	for !c.Stopping() {
		if n, wait := t.Due(); n == 0 {
			s.sleep.Sleep(min(wait, waitMs*time.Millisecond))
			m.PaceWait()
			t.Waited()
			if err := s.goesOn(c); err != nil {
				return err
			}
			continue
		}
		if err := s.visit(&s.open[0], c, t, p, m); err != nil {
			return err
		}
	}
	return c.Aborted()
}

// visit makes one.
func (s *crrSender) visit(a *asking, c *stream.Conn, t *stream.Visits, p *stream.Payload, m *stream.Meter) error {
	a.sent, a.got = 0, 0
	if t.Begin(&a.Visit, m); a.Number%lookEvery == 0 {
		m.Call()
		if err := s.goesOn(c); err != nil {
			return err
		}
	}
	fd, errno := sock.StreamFor(s.to.Family, waitMs*time.Millisecond)
	for range 3 { // with its two limits
		m.Call()
	}
	if a.fd = fd; errno != 0 {
		return remedy.Error(remedy.Socket, "socket for a connection", errno, remedy.On{Remote: c.Visits.At})
	}
	if o := s.opt.Socket; o != (sock.Options{}) {
		if err := o.Apply(fd); err != nil {
			return err
		}
	}
	to := &s.to
	if !s.opt.Trips.FastOpen {
		if err := s.reach(a, c, m); err != nil {
			return err
		}
		t.Came()
		t.Connect(&a.Visit)
		to = nil
	}
	for {
		errno := s.send(a, c, p, m, to)
		if errno == 0 {
			break
		}
		if to != nil && errno != unix.EINPROGRESS && errno != unix.EAGAIN {
			return s.unconnected(c, errno)
		} else if to == nil && errno != unix.EAGAIN {
			return s.broken(c, "send a request", errno)
		}
		if err := s.goesOn(c); err != nil {
			return err
		}
		to = nil // the connection is being made
	}
	return s.hear(a, c, t, p, m)
}

// reach connects. A call that its limit or a signal ended is made again, and waits on.
func (s *crrSender) reach(a *asking, c *stream.Conn, m *stream.Meter) error {
	for {
		errno := sock.Connect(a.fd, &s.to)
		m.Wait()
		switch errno {
		case 0, unix.EISCONN:
			return nil
		case unix.EINPROGRESS, unix.EALREADY, unix.EAGAIN, unix.EINTR:
			if err := s.goesOn(c); err != nil {
				return err
			}
		default:
			return s.unconnected(c, errno)
		}
	}
}

// hear takes the answer, and the receiver's end.
func (s *crrSender) hear(a *asking, c *stream.Conn, t *stream.Visits, p *stream.Payload, m *stream.Meter) error {
	for {
		n, errno := sock.Recv(a.fd, s.buf.Bytes(), 0)
		m.Wait()
		t.Came()
		switch {
		case errno == unix.EAGAIN || errno == unix.EINTR:
			if err := s.goesOn(c); err != nil {
				return err
			}
		case errno != 0:
			return s.broken(c, "wait for an answer", errno)
		case n == 0:
			return s.end(a, t, m)
		default:
			t.Take(&a.Visit, a.got, s.buf.Bytes()[:n], p, m)
			a.got += n
		}
	}
}

// goesOn looks whether the flow does: nil.
func (s *crrSender) goesOn(c *stream.Conn) error {
	var b [1]byte
	if n, errno := sock.Recv(c.FD, b[:], unix.MSG_DONTWAIT|unix.MSG_PEEK); errno == unix.EAGAIN || n > 0 {
		return c.Aborted()
	}
	return ended(c)
}

// broken explains why a connection broke: the flow has ended, or what the call says.
func (s *crrSender) broken(c *stream.Conn, op string, errno unix.Errno) error {
	if err := s.goesOn(c); err != nil {
		return err
	}
	return stream.SendError(c, op, errno)
}
