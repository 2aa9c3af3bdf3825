// SPDX-License-Identifier: MIT

package datagram

import (
	"cmp"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
)

// uringSender is the send mode udp-uring: a request for each datagram, a batch of them submitted by
// one call. The next batch begins when all have completed.
//
// Datagrams keep their order: the requests are linked, and none waits in the kernel. Where the
// socket has no room for one, those behind it are cancelled, and the next batch begins with it.
type uringSender struct {
	*slots
	wait sock.Waiter
	ring *uring.Ring
	n    int
}

// newUringSender makes the ring, owned by the calling thread, and the datagrams' memory.
func newUringSender(o stream.Options) (*uringSender, error) {
	n := cmp.Or(o.Batch, defaultBatch)
	ring, err := uring.NewBest(uring.Options{Engine: uring.Engine(o.UringEngine), SQEntries: uint32(max(n, 8)),
		CQEntries:    uint32(2 * max(n, 8)),
		SingleIssuer: true, DeferTaskrun: true, SubmitAll: true, RegisterFD: true})
	if err != nil {
		return nil, &fault.Unsupported{Mode: "udp-uring", Op: "make a ring", Err: err, How: fault.Fix(err)}
	}
	s, err := newSlots(o.MessageBytes)
	if err != nil {
		ring.Close()
		return nil, err
	}
	return &uringSender{slots: s, ring: ring, n: n}, nil
}

// Send sends until c.Stopping.
func (s *uringSender) Send(c *stream.Conn, p *stream.Payload, m *stream.Meter) error {
	s.fill(c, p)
	for {
		if c.Stopping() {
			return c.Aborted()
		}
		n := c.Pace.Allow(m, s.n*s.size) / s.size
		if n == 0 {
			continue
		}
		if err := s.sendBatch(c, n, m); err != nil {
			return err
		}
	}
}

// sendBatch sends n datagrams, or the first of them: from one that the kernel did not take on, the
// next batch sends them again.
func (s *uringSender) sendBatch(c *stream.Conn, n int, m *stream.Meter) error {
	for i := range n {
		e := s.ring.GetSQE().Send(c.FD, s.put(c.Sent+uint64(i)), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, uint64(i))
		if i < n-1 {
			e.Link()
		}
	}
	sent, why := 0, unix.Errno(0)
	for done := 0; done < n; {
		if err := s.enter(n-done, m); err != nil {
			return stream.SendError(c, "io_uring send of datagrams", err)
		}
		ready := s.ring.CQReady()
		for i := range ready {
			switch errno := s.ring.CQEAt(i).Errno(); errno {
			case 0:
				sent++
			case unix.ECANCELED: // behind one that was not taken
			default:
				why = errno
			}
		}
		s.ring.Advance(ready)
		done += ready
	}
	c.Sent += uint64(sent)
	m.Packets(sent)
	m.Bytes(sent * s.size)
	switch why {
	case unix.EAGAIN:
		s.wait.Wait(c.FD, unix.POLLOUT, waitMs)
		m.Wait()
		return nil
	case 0, unix.EINTR, unix.ENOBUFS:
		return nil
	}
	return stream.SendError(c, "io_uring send of datagrams", why)
}

// enter brings completions, without sleeping where all can be had so.
func (s *uringSender) enter(want int, m *stream.Meter) error {
	if s.ring.CQReady() > 0 {
		return nil
	}
	m.Call()
	if _, err := s.ring.SubmitAndGetEvents(); err != nil || s.ring.CQReady() > 0 {
		return err
	}
	m.Wait()
	_, err := s.ring.SubmitAndWait(1, waitMs*time.Millisecond)
	return err
}

// Evidence reports how the ring was made.
func (s *uringSender) Evidence() stream.Evidence {
	return stream.Evidence{UringEngine: string(s.ring.Engine()),
		Figures: append(stream.RingFigures(s.ring), stream.Figure{Name: "udp_batch", Unit: "packets",
			Value: float64(s.n)})}
}

// Close closes the ring and frees the memory.
func (s *uringSender) Close() error {
	err := s.ring.Close()
	if e := s.slots.Close(); err == nil {
		err = e
	}
	return err
}
