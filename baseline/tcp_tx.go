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
// poll, which would take two more calls whenever the socket's buffer is full. Where the kernel
// encrypts it sleeps in poll: a signal that comes in send ends a record in the middle, and the
// socket with it (net/tls/tls_sw.c: tls_tx_records), and the Go runtime sends signals to whoever
// sleeps without telling it.
type TCPSender struct{ wait sock.Waiter }

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
	sleeps := !c.TLS.InKernel()
	return sealing(c, m, func(p []byte) (n int, err error) {
		var errno unix.Errno
		if sleeps {
			n, errno = sock.Send(c.FD, p, unix.MSG_NOSIGNAL)
			m.Wait()
		} else if n, errno = sock.Send(c.FD, p, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT); errno == unix.EAGAIN {
			s.wait.Wait(c.FD, unix.POLLOUT, waitMs)
			m.Wait()
		} else {
			m.Call()
		}
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
