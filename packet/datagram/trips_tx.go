// SPDX-License-Identifier: MIT

package datagram

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
)

// tripSender is the send mode udp-rr: requests by datagrams, and the receiver's answers to them, a
// datagram each. With one in flight that is a send and a recv per transaction; else requests that
// are due together leave by one sendmmsg, and one recvmmsg takes what has come.
//
// A request is sent once. One whose answer does not come in time is lost, and the next one has
// another number: see [stream.PacketTrips].
type tripSender struct {
	*slots
	opt   stream.Options
	buf   *stream.Buffer // of answers
	out   *sock.Batch
	in    *sock.Batch
	n     int // of a batch
	wait  sock.Waiter
	epoll *stream.Waiting
	sleep sock.Sleeper

	key     uint64        // of answers
	blocked bool          // the socket had no room for a request
	plain   time.Duration // a recv without a poll before it is over within this time
}

// newTripSender allocates the memory of requests and answers.
func newTripSender(o stream.Options) (*tripSender, error) {
	s, err := newSlots(o.MessageBytes)
	if err != nil {
		return nil, err
	}
	n := min(cmp.Or(o.Batch, defaultBatch), max(o.Trips.InFlight, 1))
	each := o.Trips.ResponseBytes + 1 // one that is too long shows
	buf, err := stream.NewBuffer(n * each)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	t := &tripSender{slots: s, opt: o, buf: buf, n: n, out: sock.NewBatch(n, false), in: sock.NewBatch(n, false)}
	for i := range n {
		t.in.Set(i, t.at(i))
	}
	return t, nil
}

// at returns the buffer of an answer of a batch.
func (s *tripSender) at(i int) []byte {
	each := s.opt.Trips.ResponseBytes + 1
	return s.buf.Bytes()[i*each:][:each:each]
}

// Send makes round trips until c.Stopping, and returns when each has ended, or was given up.
func (s *tripSender) Send(c *stream.Conn, p *stream.Payload, m *stream.Meter) error {
	t := m.PacketTrips()
	if t == nil {
		return errors.New("udp-rr: nobody keeps the account of the round trips")
	}
	s.fill(c, p)
	s.key = answerKey(c.Key)
	wait := min(waitMs*time.Millisecond, t.Timeout()/2)
	if err := sock.Blocking(c.FD, wait); err != nil {
		return err
	}
	var err error
	if s.epoll, err = stream.NewWaiting(c.FD, s.opt.Socket); err != nil {
		return err
	}
	s.plain = wait + 2*tick()
	if s.opt.Trips.PerSecond > 0 {
		sock.Punctual()
	}
	for !c.Stopping() || t.InFlight() > 0 {
		if err := c.Aborted(); err != nil {
			return err
		}
		t.Expire(m)
		if !c.Stopping() {
			if err := s.ask(c, t, m); err != nil {
				return err
			}
		}
		if err := s.hear(c, t, m); err != nil {
			return err
		}
	}
	return s.late(c, t, m)
}

// late takes answers that are late, so that none is taken for lost: until none has come for a
// while.
func (s *tripSender) late(c *stream.Conn, t *stream.PacketTrips, m *stream.Meter) error {
	came := ^uint64(0)
	for end := time.Now().Add(time.Second); m.Snapshot().TripsLost > 0 && came != m.Snapshot().AnswersLate &&
		time.Now().Before(end); {
		came = m.Snapshot().AnswersLate
		s.wait.WaitFor(c.FD, unix.POLLIN, min(waitMs*time.Millisecond, t.Timeout()))
		if err := s.take(c, t, m, unix.MSG_DONTWAIT); err != nil {
			return err
		}
	}
	return c.Aborted()
}

// ask sends the requests that are due, as far as there is room.
func (s *tripSender) ask(c *stream.Conn, t *stream.PacketTrips, m *stream.Meter) error {
	s.blocked = false
	for n, _ := t.Due(); n > 0; {
		t.Now()
		sent, errno := s.call(c, min(n, s.n))
		m.Call()
		switch errno {
		case 0:
			t.Begin(sent, m)
			c.Sent += uint64(sent)
			m.Packets(sent)
			m.Bytes(sent * s.slots.size)
			n -= sent
		case unix.EAGAIN:
			s.blocked = true
			n = 0
		case unix.EINTR:
		case unix.ENOBUFS: // a queue below is full, and has taken nothing
			s.blocked = true
			n = 0
		case unix.EMSGSIZE:
			return &fault.Error{Op: fmt.Sprintf("send requests of %d bytes", s.slots.size), Err: errno,
				How: "choose a smaller --request: IPv4 has room for 65507 bytes"}
		default:
			return stream.SendError(c, "send a request", errno)
		}
		t.Waited()
	}
	return nil
}

// call sends the next n requests.
func (s *tripSender) call(c *stream.Conn, n int) (sent int, errno unix.Errno) {
	const flags = unix.MSG_DONTWAIT | unix.MSG_NOSIGNAL
	if n == 1 {
		_, errno = sock.Send(c.FD, s.put(c.Sent), flags)
		return 1, errno
	}
	for i := range n {
		s.out.Set(i, s.put(c.Sent+uint64(i)))
	}
	return s.out.Send(c.FD, n, flags)
}

// hear waits for answers, or until more requests are due or there is room for them, and takes what
// has come. It waits no longer than until the oldest request is to be given up. A recv alone is the
// cheapest way to wait, but has one time limit for all of its calls, in the kernel's ticks: near
// the end of that time a poll comes before it.
func (s *tripSender) hear(c *stream.Conn, t *stream.PacketTrips, m *stream.Meter) error {
	more := time.Duration(-1) // until another request is due that there is room for
	if !c.Stopping() && !s.blocked {
		n := 0
		if n, more = t.Due(); n > 0 {
			return nil
		}
	}
	left := t.Left()
	limit := min(waitMs*time.Millisecond, left)
	switch {
	case s.blocked:
	case t.InFlight() == 0:
		if more > 0 {
			s.sleep.Sleep(min(more, waitMs*time.Millisecond))
			m.PaceWait()
			t.Waited()
		}
		return nil
	case more >= 0:
		limit = min(limit, more)
	case left >= s.plain && !s.opt.Socket.OnlyEpoll:
		return s.take(c, t, m, unix.MSG_WAITFORONE)
	}
	ready := false
	if s.blocked {
		got, _ := s.wait.WaitFor(c.FD, unix.POLLIN|unix.POLLOUT, limit)
		ready = got != 0
	} else {
		ready, _ = s.epoll.For(&s.wait, c.FD, limit)
	}
	m.Wait()
	t.Waited()
	if !ready {
		return nil
	}
	return s.take(c, t, m, unix.MSG_DONTWAIT)
}

// tick returns how coarse the kernel's time limit of a recv is: it may be two of these late.
func tick() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGetres(unix.CLOCK_MONOTONIC_COARSE, &ts); err != nil {
		return 10 * time.Millisecond // the longest there is
	}
	return time.Duration(ts.Nano())
}

// take takes the answers that are there.
func (s *tripSender) take(c *stream.Conn, t *stream.PacketTrips, m *stream.Meter, flags int) error {
	one := s.n == 1
	got, length, errno := 1, 0, unix.Errno(0)
	if one {
		length, errno = sock.Recv(c.FD, s.at(0), flags&^unix.MSG_WAITFORONE)
	} else {
		got, errno = s.in.Recv(c.FD, s.n, flags)
	}
	m.Wait()
	if err := c.Aborted(); err != nil {
		return err // what came may be nothing: the socket was shut down
	}
	switch errno {
	case 0:
	case unix.EINTR, unix.EAGAIN:
		t.Waited()
		return nil
	default:
		return stream.SendError(c, "wait for answers", errno)
	}
	t.Came()
	t.Expire(m) // also what came too late just now
	for i := range got {
		if !one {
			length = s.in.Len(i)
		}
		if seq, ok := s.right(s.at(i)[:length], t); ok {
			t.Take(seq, m)
		} else {
			m.Corrupted()
		}
	}
	return nil
}

// right checks that an answer is one: it has the number of a request that was sent, and that one's
// bytes.
func (s *tripSender) right(p []byte, t *stream.PacketTrips) (seq uint64, ok bool) {
	seq, ok = parse(p, s.key)
	if !ok || len(p) != s.opt.Trips.ResponseBytes || seq >= t.Sent() {
		return 0, false
	}
	at := int(seq%s.slots.n)*s.slots.size + headerBytes
	rest := s.slots.buf.Bytes()[at:][:s.slots.size-headerBytes]
	for p = p[headerBytes:]; len(p) > 0; {
		n := min(len(p), len(rest))
		if !bytes.Equal(p[:n], rest[:n]) {
			return 0, false
		}
		p = p[n:]
	}
	return seq, true
}

// Evidence reports how much a call could move.
func (s *tripSender) Evidence() stream.Evidence {
	return stream.Evidence{Figures: []stream.Figure{{Name: "udp_batch", Unit: "packets", Value: float64(s.n)}}}
}

// Close frees the memory.
func (s *tripSender) Close() error {
	return errors.Join(s.epoll.Close(), s.slots.Close(), s.buf.Close())
}
