// SPDX-License-Identifier: MIT

// Package uringzc is the send mode uring-zc: io_uring SEND_ZC (kernel 6.0) from
// registered buffers. The kernel notifies when it lets go of the memory and,
// asked by IORING_SEND_ZC_REPORT_USAGE (6.2), whether it copied after all.
package uringzc

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zcbench/zcbench/machine/measure"

	"github.com/zcbench/zcbench/internal/fault"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
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

// sender sends with SEND_ZC, one request in flight and up to window
// notifications owed.
type sender struct {
	ring  *uring.Ring
	chunk int // bytes of each registered buffer

	free    [window]uint16 // slots that owe nothing: free[:nfree]
	nfree   int
	size    [window]uint32 // bytes of the request in a slot
	pending int            // notifications owed

	fate   Fates
	moved  int // result of the request in flight
	errno  unix.Errno
	flying bool
}

// New makes the ring, owned by the calling thread.
func New(o stream.Options) (*sender, error) {
	ring, err := uring.NewBest(uring.Options{Engine: uring.Engine(o.UringEngine), SQEntries: 8, CQEntries: 4 * window,
		SingleIssuer: true, DeferTaskrun: true, SubmitAll: true, RegisterFD: true})
	if err != nil {
		return nil, &fault.Unsupported{Mode: "uring-zc", Op: "make a ring", Err: err, How: fault.Fix(err)}
	}
	s := &sender{ring: ring, chunk: maxRegister, nfree: window}
	for i := range s.free {
		s.free[i] = uint16(i)
	}
	return s, nil
}

// Send sends until c.Stopping, then waits for all notifications.
func (s *sender) Send(c *stream.Conn, p *stream.Payload, m *stream.Meter) error {
	if err := s.ring.RegisterBuffers(slices.Collect(slices.Chunk(p.Memory(), s.chunk))); err != nil {
		return &fault.Unsupported{Mode: "uring-zc", Op: fmt.Sprintf("register %d bytes of payload", len(p.Memory())),
			Err: err, How: fault.Fix(err)}
	}
	err := s.sendAll(c, p, m)
	return errors.Join(err, s.drain(c, m, err != nil))
}

func (s *sender) sendAll(c *stream.Conn, p *stream.Payload, m *stream.Meter) error {
	mem := p.Memory()
	for k := uint64(0); ; k++ {
		for off, end := p.Offset(k), p.Offset(k)+p.MessageBytes(); off < end; {
			if c.Stopping() {
				return c.Aborted()
			}
			index := off / s.chunk
			part := c.Pace.Allow(m, min(end, (index+1)*s.chunk)-off)
			if part == 0 {
				continue
			}
			n, err := s.sendOne(c, index, mem[off:off+part], m)
			if err != nil {
				return stream.SendError(c, "io_uring send_zc", err)
			}
			off += n
		}
	}
}

// sendOne sends as much of p, which lies in registered buffer index, as the
// socket takes at once. It returns 0 when a slot had to be waited for.
func (s *sender) sendOne(c *stream.Conn, index int, p []byte, m *stream.Meter) (int, error) {
	if s.nfree == 0 {
		return 0, s.take(m)
	}
	s.nfree--
	slot := s.free[s.nfree]
	s.ring.GetSQE().SendZCFixed(c.FD, index, p, unix.MSG_NOSIGNAL, true, uint64(slot))
	for s.flying = true; s.flying; {
		if err := s.take(m); err != nil {
			return 0, err
		}
	}
	switch s.errno {
	case 0:
		m.Bytes(s.moved)
		return s.moved, nil
	case unix.EINTR, unix.EAGAIN:
		return 0, nil
	}
	return 0, s.errno
}

// take waits for completions if there are none and handles all that are there.
func (s *sender) take(m *stream.Meter) error {
	if s.ring.CQReady() == 0 {
		m.Call()
		if _, err := s.ring.SubmitAndGetEvents(); err != nil {
			return err
		}
	}
	if s.ring.CQReady() == 0 {
		m.Wait()
		if _, err := s.ring.SubmitAndWait(1, waitTime); err != nil {
			return err
		}
	}
	n := s.ring.CQReady()
	for i := range n {
		s.handle(*s.ring.CQEAt(i), m)
	}
	s.ring.Advance(n)
	return nil
}

// handle books one completion: the request's own, or its notification.
func (s *sender) handle(cqe uring.CQE, m *stream.Meter) {
	slot := uint16(cqe.UserData)
	if !cqe.Notif() {
		s.flying = false
		s.moved, s.errno = int(max(cqe.Res, 0)), cqe.Errno()
		s.size[slot] = uint32(s.moved)
		if cqe.More() {
			s.pending++
			return // the slot is free with its notification
		}
	} else {
		s.pending--
		size := uint64(s.size[slot])
		switch s.fate.Of(size, cqe.Copied()) {
		case Copied:
			m.Copied(size)
		case Sent:
			m.ZeroCopy(size)
		}
		m.Completion(1, cqe.Copied())
	}
	s.free[s.nfree] = slot
	s.nfree++
}

// drain waits for the notifications still owed, unless the flow is broken.
func (s *sender) drain(c *stream.Conn, m *stream.Meter, broken bool) error {
	last, left := time.Now(), s.pending
	for s.pending > 0 && !broken && c.Aborted() == nil {
		if err := s.take(m); err != nil {
			return err
		}
		if s.pending < left {
			last, left = time.Now(), s.pending
		}
		if time.Since(last) > drainTime {
			return fmt.Errorf("%d SEND_ZC notifications missing after %v", s.pending, drainTime)
		}
	}
	return nil
}

// Close closes the ring, which unpins the memory.
func (s *sender) Close() error { return s.ring.Close() }

// Evidence returns how the ring was made, and what is untold of the payload.
func (s *sender) Evidence() stream.Evidence {
	figures := append(stream.RingFigures(s.ring), stream.Figure{Name: UntoldFigure, Unit: "bytes",
		Value: float64(s.fate.UntoldBytes())})
	return stream.Evidence{Figures: figures, Notes: s.fate.Notes(), UringEngine: string(s.ring.Engine())}
}

// UntoldFigure names how much is untold.
const UntoldFigure = "uring_zc_untold_bytes"

// Metrics describe what the kernel does not tell of copies.
var Metrics = []measure.MetricDoc{
	{Names: UntoldFigure,
		Units: "bytes", Source: "data path, whole flow",
		Meaning: "payload sent by uring-zc of which the kernel does not tell whether it was " +
			"copied, because it joined a packet of the message before"},
}
