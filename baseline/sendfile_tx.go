// SPDX-License-Identifier: MIT

package baseline

import (
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"golang.org/x/sys/unix"
)

// SendfileSender is the mode sendfile: sendfile(2) of message after message
// from page-cache memory. The sender does not copy; the receiver does.
type SendfileSender struct {
	wait sock.Waiter
	off  int64 // here and not on the stack: the kernel gets its address
}

// NewSendfileSender needs no memory of its own.
func NewSendfileSender(stream.Options) (*SendfileSender, error) { return &SendfileSender{}, nil }

// Send sends until c.Stopping. With kTLS a call that ends early leaves the beginning of a record in
// the kernel, which goes out when the rest of what was asked for has come.
func (s *SendfileSender) Send(c *stream.Conn, p *stream.Payload, m *stream.Meter) error {
	owed := 0 // that rest
	for k := uint64(0); ; k++ {
		s.off = int64(p.Offset(k))
		for rest := p.MessageBytes(); rest > 0; {
			if c.Stopping() && (owed == 0 || c.Aborted() != nil) {
				return c.Aborted()
			}
			part := owed
			if part == 0 {
				part = c.Pace.Allow(m, rest)
			}
			if part == 0 {
				continue
			}
			n, errno := sock.Sendfile(c.FD, p.FD, &s.off, part)
			m.Call()
			switch {
			case errno == 0:
				m.Bytes(n)
				rest -= n
				if c.TLS != nil {
					owed = part - n
				}
			case errno == unix.EAGAIN:
				s.wait.Wait(c.FD, unix.POLLOUT, waitMs)
				m.Wait()
			case errno != unix.EINTR:
				return stream.SendError(c, "sendfile", errno)
			}
		}
	}
}

// Close does nothing.
func (s *SendfileSender) Close() error { return nil }
