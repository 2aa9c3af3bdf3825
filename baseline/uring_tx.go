// SPDX-License-Identifier: MIT

package baseline

import (
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"golang.org/x/sys/unix"
)

// uringSender is the send mode uring: io_uring send of message after message,
// one request in flight, because several on one stream may overtake each other.
type uringSender struct{ ring *uring.Ring }

// newUringSender makes the ring, owned by the calling thread.
func newUringSender(o stream.Options) (*uringSender, error) {
	ring, err := uring.NewBest(uring.Options{Engine: uring.Engine(o.UringEngine), SQEntries: 8, SingleIssuer: true,
		DeferTaskrun: true, SubmitAll: true, RegisterFD: true})
	if err != nil {
		return nil, &fault.Unsupported{Mode: "uring", Op: "make a ring", Err: err, How: fault.Fix(err)}
	}
	return &uringSender{ring: ring}, nil
}

// Send sends until c.Stopping.
func (s *uringSender) Send(c *stream.Conn, p *stream.Payload, m *stream.Meter) error {
	send := sealing(c, m, func(p []byte) (int, error) {
		n, err := s.sendOne(c, p, m)
		if err != nil {
			return 0, stream.SendError(c, "io_uring send", err)
		}
		return n, nil
	})
	for k := uint64(0); ; k++ {
		for rest := p.Message(k); len(rest) > 0; {
			if c.Stopping() {
				return c.Aborted()
			}
			part := c.Pace.Allow(m, len(rest))
			if part == 0 {
				continue
			}
			n, err := send(rest[:part])
			if err != nil {
				return err
			}
			rest = rest[n:]
		}
	}
}

// sendOne sends as much of p as the socket takes at once.
func (s *uringSender) sendOne(c *stream.Conn, p []byte, m *stream.Meter) (int, error) {
	s.ring.GetSQE().Send(c.FD, p, unix.MSG_NOSIGNAL, 0)
	for {
		if err := enter(s.ring, m); err != nil {
			return 0, err
		}
		cqe, ok := s.ring.PeekCQE()
		if !ok {
			continue // Abort completes the request, so this ends
		}
		s.ring.Advance(1)
		switch errno := cqe.Errno(); errno {
		case 0:
			return int(cqe.Res), nil
		case unix.EINTR, unix.EAGAIN:
			return 0, nil
		default:
			return 0, errno
		}
	}
}

// enter brings completions: without sleeping if there are any.
func enter(ring *uring.Ring, m *stream.Meter) error {
	if ring.CQReady() > 0 {
		return nil
	}
	m.Call()
	if _, err := ring.SubmitAndGetEvents(); err != nil || ring.CQReady() > 0 {
		return err
	}
	m.Wait()
	_, err := ring.SubmitAndWait(1, waitMs*time.Millisecond)
	return err
}

// Close closes the ring.
func (s *uringSender) Close() error { return s.ring.Close() }

// Evidence returns how the ring was made.
func (s *uringSender) Evidence() stream.Evidence {
	return stream.Evidence{Figures: stream.RingFigures(s.ring), UringEngine: string(s.ring.Engine())}
}
