// SPDX-License-Identifier: MIT

package datagram

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/zcbench/zcbench/internal/fault"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
)

// sender is the mode udp: sendmmsg(2) of datagram after datagram, or send(2) of one after another
// where a call is to take no more. As udp-gso it hands over as much in one piece, of which
// UDP_SEGMENT has the kernel, or the NIC, make datagrams.
type sender struct {
	*slots
	wait  sock.Waiter
	batch *sock.Batch
	n     int
	gso   bool
}

// NewSender allocates the datagrams' memory.
func NewSender(o stream.Options) (*sender, error) {
	return newSender(o, cmp.Or(o.Batch, defaultBatch), false)
}

// newGSOSender does the same with UDP_SEGMENT.
func newGSOSender(o stream.Options) (*sender, error) {
	return newSender(o, min(cmp.Or(o.Batch, defaultBatch), int(mostInOne(o.MessageBytes))), true)
}

func newSender(o stream.Options, n int, gso bool) (*sender, error) {
	s, err := newSlots(o.MessageBytes)
	if err != nil {
		return nil, err
	}
	return &sender{slots: s, batch: sock.NewBatch(n, false), n: n, gso: gso}, nil
}

// Send sends until c.Stopping.
func (s *sender) Send(c *stream.Conn, p *stream.Payload, m *stream.Meter) error {
	s.fill(c, p)
	call := s.sendBatch
	switch {
	case s.gso:
		if err := lacking("udp-gso", sock.SegmentUDP(c.FD, s.size)); err != nil {
			return err
		}
		call = s.sendRun
	case s.n == 1:
		call = s.sendOne
	}
	for {
		if c.Stopping() {
			return c.Aborted()
		}
		n := c.Pace.Allow(m, s.n*s.size) / s.size
		if n == 0 {
			continue
		}
		sent, errno := call(c, n)
		m.Call()
		switch errno {
		case 0:
			c.Sent += uint64(sent)
			m.Packets(sent)
			m.Bytes(sent * s.slots.size)
		case unix.EAGAIN:
			s.wait.Wait(c.FD, unix.POLLOUT, waitMs)
			m.Wait()
		case unix.EINTR, unix.ENOBUFS: // the latter: a queue below is full, and has taken nothing
		default:
			return s.refused(c, errno)
		}
	}
}

func (s *sender) sendOne(c *stream.Conn, _ int) (int, unix.Errno) {
	_, errno := sock.Send(c.FD, s.put(c.Sent), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	return 1, errno
}

func (s *sender) sendBatch(c *stream.Conn, n int) (int, unix.Errno) {
	for i := range n {
		s.batch.Set(i, s.put(c.Sent+uint64(i)))
	}
	return s.batch.Send(c.FD, n, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
}

// sendRun sends all or nothing: a datagram of UDP_SEGMENT is one to the socket.
func (s *sender) sendRun(c *stream.Conn, n int) (int, unix.Errno) {
	p, n := s.run(c.Sent, n)
	_, errno := sock.Send(c.FD, p, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	return n, errno
}

// refused explains what the kernel did not take.
func (s *sender) refused(c *stream.Conn, errno unix.Errno) error {
	op := fmt.Sprintf("send datagrams of %d bytes", s.size)
	switch {
	case s.gso && (errno == unix.EINVAL || errno == unix.EMSGSIZE):
		return &fault.Unsupported{Mode: GSO.Name, Op: op + " by UDP_SEGMENT", Err: errno,
			How: "each must fit the MTU with 28 bytes of headers (IPv6: 48): choose a smaller --message-size, a " +
				"larger MTU, or --tx udp"}
	case s.gso && errors.Is(errno, unix.EIO):
		return &fault.Unsupported{Mode: GSO.Name, Op: op + " by UDP_SEGMENT", Err: errno,
			How: "the interface must compute checksums (ethtool -K DEV tx-checksumming on), or --tx udp"}
	case errno == unix.EMSGSIZE:
		return &fault.Error{Op: op, Err: errno, How: "choose a smaller --message-size: IPv4 has room for 65507 " +
			"bytes, and what is longer than the MTU needs fragments"}
	}
	return stream.SendError(c, op, errno)
}

// Evidence reports how much a call could take.
func (s *sender) Evidence() stream.Evidence {
	e := stream.Evidence{Figures: []stream.Figure{{Name: "udp_batch", Unit: "packets", Value: float64(s.n)}}}
	if s.gso {
		e.MostInOne = uint64(s.n)
	}
	return e
}

// Close frees the memory.
func (s *sender) Close() error { return s.slots.Close() }
