// SPDX-License-Identifier: MIT

package baseline

import (
	"errors"
	"time"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// rrSender is the send mode rr: it sends requests, and the receiver answers each
// ([stream.Answers]). Requests that are due together leave by one send; what comes of answers is
// taken by one recv. With one in flight that is a send and a recv per transaction.
type rrSender struct {
	opt   stream.Options
	buf   *stream.Buffer
	wait  sock.Waiter
	epoll *stream.Waiting
	sleep sock.Sleeper

	owed    int    // bytes of requests that are begun and not sent
	pos     uint64 // bytes that were sent
	blocked bool   // the socket had no room for them

	lender stream.Lender // of requests that are not copied; nil: they are
	period uint64        // of the payload in it

	records []byte // room for those of requests, where the application makes them
	out     []byte // of them, what is not sent yet
	inside  int    // bytes of requests in them
}

// answerBuffer holds what one recv takes of answers.
const answerBuffer = 64 << 10

// newRRSender allocates the buffer.
func newRRSender(o stream.Options) (*rrSender, error) {
	buf, err := stream.NewBuffer(answerBuffer)
	if err != nil {
		return nil, err
	}
	return &rrSender{opt: o, buf: buf}, nil
}

// TripsOf is rr whose requests, and the answers to them, leave as what a send mode sends: without a
// copy.
func TripsOf(m stream.Mode) stream.Mode {
	return stream.Mode{Name: RoundTrips.Name + "-" + m.Name, Role: stream.TX,
		Summary: "round trips whose requests and answers leave as by " + m.Name,
		Traits:  m.Traits | stream.RoundTrips, Kernel: m.Kernel, Needs: m.Needs,
		Probe: m.Probe, ProbeDevice: m.ProbeDevice, SendsAs: m.Name, NewLender: m.NewLender,
		NewSender: stream.MakesSender(func(o stream.Options) (*rrSender, error) { return newLentRR(o, m) })}
}

// newLentRR has the payload in memory of the mode's.
func newLentRR(o stream.Options, m stream.Mode) (*rrSender, error) {
	s, err := newRRSender(o)
	if err != nil {
		return nil, err
	}
	message := o.MessageBytes * max(o.Trips.InFlight, 1) // all that may be in flight
	if s.lender, err = m.NewLender(o, stream.PayloadBytes(message)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	mem, err := s.lender.Room(0, s.lender.Size())
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.period = uint64(stream.WritePayload(mem, message))
	return s, nil
}

// Send makes round trips until c.Stopping, and returns when the last has ended.
func (s *rrSender) Send(c *stream.Conn, p *stream.Payload, m *stream.Meter) error {
	t := m.Trips()
	if t == nil {
		return errors.New("rr: no account of the round trips")
	}
	if err := errors.Join(stream.NoDelay(c), sock.Blocking(c.FD, waitMs*time.Millisecond)); err != nil {
		return err
	}
	var err error
	if s.epoll, err = stream.NewWaiting(c.FD, s.opt.Socket); err != nil {
		return err
	}
	if s.opt.Trips.PerSecond > 0 {
		sock.Punctual()
	}
	if c.TLS != nil && c.TLS.Sealer != nil {
		s.records = make([]byte, 0, records.Sealed(recordsPerCall*records.MaxPlain))
	}
	for !c.Stopping() || t.InFlight() > 0 || s.owed > 0 {
		if err := c.Aborted(); err != nil {
			return err
		}
		if !c.Stopping() {
			if n, _ := t.Due(); n > 0 {
				t.Begin(n, m)
				s.owed += n * s.opt.MessageBytes
			}
		}
		if err := s.send(c, t, p, m); err != nil {
			return err
		}
		if err := s.receive(c, t, p, m); err != nil {
			return err
		}
	}
	if err := c.Aborted(); err != nil || s.lender == nil {
		return err
	}
	return s.lender.Drain(c, m)
}

// send sends what is owed, as far as there is room.
func (s *rrSender) send(c *stream.Conn, t *stream.Trips, p *stream.Payload, m *stream.Meter) error {
	s.blocked = false
	if s.lender != nil {
		return s.lend(c, t, m)
	}
	for s.owed > 0 {
		n, errno := sock.Send(c.FD, s.next(c, p), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		m.Call()
		t.Waited()
		switch {
		case errno == 0:
			n = s.took(n)
			m.Bytes(n)
			s.owed, s.pos = s.owed-n, s.pos+uint64(n)
		case errno == unix.EAGAIN:
			s.blocked = true
			return nil
		case errno != unix.EINTR:
			return stream.SendError(c, "send a request", errno)
		}
	}
	return nil
}

// lend does what send does, from memory that is lent to the kernel. Nobody writes it, so it may be
// lent again at once.
func (s *rrSender) lend(c *stream.Conn, t *stream.Trips, m *stream.Meter) error {
	for s.owed > 0 && !s.blocked {
		at := int(s.pos % s.period)
		n, err := s.lender.Offer(c, at, min(s.owed, s.lender.Size()-at), m)
		t.Waited()
		if err != nil {
			return err
		}
		s.owed, s.pos, s.blocked = s.owed-n, s.pos+uint64(n), n == 0
	}
	return nil
}

// next returns what is to be sent of what is owed: itself, or the records of it.
func (s *rrSender) next(c *stream.Conn, p *stream.Payload) []byte {
	if s.records == nil {
		return p.At(s.pos, min(s.owed, p.MessageBytes()))
	}
	if len(s.out) == 0 {
		s.inside = min(s.owed, p.MessageBytes(), recordsPerCall*records.MaxPlain)
		s.out = c.TLS.Sealer.SealAll(s.records, p.At(s.pos, s.inside))
	}
	return s.out
}

// took returns how many bytes of requests have left with n bytes.
func (s *rrSender) took(n int) int {
	if s.records == nil {
		return n
	}
	if s.out = s.out[n:]; len(s.out) > 0 {
		return 0
	}
	return s.inside
}

// receive waits for answers, or until more requests are due or there is room for them, and takes
// what has come.
func (s *rrSender) receive(c *stream.Conn, t *stream.Trips, p *stream.Payload, m *stream.Meter) error {
	more := time.Duration(-1) // until another request is due that there is room for
	if !c.Stopping() {
		n := 0
		if n, more = t.Due(); n > 0 {
			return nil
		}
	}
	flags := 0
	switch {
	case s.blocked:
		s.wait.Wait(c.FD, unix.POLLIN|unix.POLLOUT, waitMs)
		m.Wait()
		flags = unix.MSG_DONTWAIT
	case t.InFlight() == 0:
		if more > 0 {
			s.sleep.Sleep(min(more, waitMs*time.Millisecond))
			m.PaceWait()
			t.Waited()
		}
		return nil
	case more >= 0:
		ready, _ := s.epoll.For(&s.wait, c.FD, min(more, waitMs*time.Millisecond))
		m.Wait()
		t.Waited()
		if !ready {
			return nil
		}
		flags = unix.MSG_DONTWAIT
	default:
		flags = s.epoll.Next(waitMs*time.Millisecond, m)
	}
	n, errno := sock.Recv(c.FD, s.buf.Bytes(), flags)
	m.Wait()
	switch {
	case n > 0 && errno == 0:
		return s.take(c, s.buf.Bytes()[:n], t, p, m)
	case errno == 0:
		if err := c.Aborted(); err != nil {
			return err
		}
		return &fault.Error{Op: "wait for answers", Err: errors.New("the receiver ended the flow"), Peer: true,
			How: "see its own message"}
	case errno != unix.EINTR && errno != unix.EAGAIN:
		return stream.AskError(c, "wait for answers", errno)
	default:
		t.Waited()
		if s.lender != nil { // what woke it may be a notification
			return s.lender.Reap(c, m)
		}
	}
	return nil
}

// take books what came of answers, decrypted where that is the application's work.
func (s *rrSender) take(c *stream.Conn, got []byte, t *stream.Trips, p *stream.Payload, m *stream.Meter) error {
	if c.TLS == nil || c.TLS.Opener == nil {
		t.Take(got, p, m)
		return nil
	}
	t.Waited()
	for len(got) > 0 {
		plain, rest, err := c.TLS.Opener.Next(got)
		if err != nil {
			return stream.AskError(c, "decrypt answers", err)
		}
		if got = rest; len(plain) > 0 {
			t.Take(plain, p, m)
		}
	}
	return nil
}

// Evidence returns what is known of how requests were sent.
func (s *rrSender) Evidence() stream.Evidence {
	if w, ok := s.lender.(stream.Witness); ok {
		return w.Evidence()
	}
	return stream.Evidence{}
}

// Close frees the memory.
func (s *rrSender) Close() error {
	err := errors.Join(s.epoll.Close(), s.buf.Close())
	if s.lender != nil {
		err = errors.Join(err, s.lender.Close())
	}
	return err
}
