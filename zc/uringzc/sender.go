// SPDX-License-Identifier: MIT

// Package uringzc is the send mode uring-zc: io_uring SEND_ZC (kernel 6.0) from
// registered buffers. The kernel notifies when it lets go of the memory and,
// asked by IORING_SEND_ZC_REPORT_USAGE (6.2), whether it copied after all.
package uringzc

import (
	"errors"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/measure"
)

// sender sends messages of the payload.
type sender struct{ *flow }

// New makes the ring, owned by the calling thread.
func New(o stream.Options) (*sender, error) {
	f, err := newFlow(o)
	if err != nil {
		return nil, err
	}
	return &sender{f}, nil
}

// Send sends until c.Stopping, then waits for all notifications.
func (s *sender) Send(c *stream.Conn, p *stream.Payload, m *stream.Meter) error {
	if err := s.register(p.Memory()); err != nil {
		return err
	}
	err := s.sendAll(c, p, m)
	return errors.Join(err, s.drain(c, m, err != nil))
}

func (s *sender) sendAll(c *stream.Conn, p *stream.Payload, m *stream.Meter) error {
	for k := uint64(0); ; k++ {
		for off, end := p.Offset(k), p.Offset(k)+p.MessageBytes(); off < end; {
			if c.Stopping() {
				return c.Aborted()
			}
			part := c.Pace.Allow(m, min(end, (off/s.chunk+1)*s.chunk)-off)
			if part == 0 {
				continue
			}
			n, err := s.send(c, off, part, 0, m)
			if err != nil {
				return err
			}
			off += n
		}
	}
}

// Evidence returns how the ring was made, and what is untold of the payload.
func (s *sender) Evidence() stream.Evidence {
	return stream.Evidence{Figures: append(stream.RingFigures(s.ring), s.fate.Figures()...), Notes: s.fate.Notes(),
		UringEngine: string(s.ring.Engine())}
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
