// SPDX-License-Identifier: MIT

package baseline

import (
	"time"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"golang.org/x/sys/unix"
)

// mostSend bounds what one call sends: it returns when the socket has taken all of it, and
// until then nobody counts a byte of it.
const mostSend = 1 << 20

// TCPSender is the mode tcp: send(2) of message after message. It sleeps in send and not in
// poll, which would take two more calls whenever the socket's buffer is full.
type TCPSender struct{}

// NewTCPSender needs no memory of its own.
func NewTCPSender(stream.Options) (*TCPSender, error) { return &TCPSender{}, nil }

// Send sends until c.Stopping.
func (s *TCPSender) Send(c *stream.Conn, p *stream.Payload, m *stream.Meter) error {
	if err := sock.BlockingSend(c.FD, waitMs*time.Millisecond); err != nil {
		return err
	}
	send := s.sends(c, m)
	for k := uint64(0); ; k++ {
		for rest := p.Message(k); len(rest) > 0; {
			if c.Stopping() {
				return c.Aborted()
			}
			part := c.Pace.Allow(m, min(len(rest), mostSend))
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

// sends makes what sends a piece of payload, and counts it.
func (s *TCPSender) sends(c *stream.Conn, m *stream.Meter) sends {
	return sealing(c, m, func(p []byte) (int, error) {
		n, errno := sock.Send(c.FD, p, unix.MSG_NOSIGNAL)
		m.Wait()
		switch errno {
		case 0:
			return n, nil
		case unix.EINTR, unix.EAGAIN:
			return 0, nil
		}
		return 0, stream.SendError(c, "send", errno)
	})
}

// Close does nothing.
func (s *TCPSender) Close() error { return nil }
