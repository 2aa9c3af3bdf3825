// SPDX-License-Identifier: MIT

package baseline

import (
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"golang.org/x/sys/unix"
)

// TCPSender is the mode tcp: send(2) of message after message.
type TCPSender struct{ wait sock.Waiter }

// NewTCPSender needs no memory of its own.
func NewTCPSender(stream.Options) (*TCPSender, error) { return &TCPSender{}, nil }

// Send sends until c.Stopping.
func (s *TCPSender) Send(c *stream.Conn, p *stream.Payload, m *stream.Meter) error {
	for k := uint64(0); ; k++ {
		for rest := p.Message(k); len(rest) > 0; {
			if c.Stopping() {
				return c.Aborted()
			}
			part := c.Pace.Allow(m, len(rest))
			if part == 0 {
				continue
			}
			n, errno := sock.Send(c.FD, rest[:part], unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
			m.Call()
			switch {
			case errno == 0:
				m.Bytes(n)
				rest = rest[n:]
			case errno == unix.EAGAIN:
				s.wait.Wait(c.FD, unix.POLLOUT, waitMs)
				m.Wait()
			case errno != unix.EINTR:
				return stream.SendError(c, "send", errno)
			}
		}
	}
}

// Close does nothing.
func (s *TCPSender) Close() error { return nil }
