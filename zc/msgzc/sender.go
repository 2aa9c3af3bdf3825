// SPDX-License-Identifier: MIT

// Package msgzc is the send mode msg-zerocopy: send(2) with MSG_ZEROCOPY
// (kernel 4.14, Documentation/networking/msg_zerocopy.rst). The kernel pins the
// application's pages and says on the socket's error queue when it lets go of
// them, and whether it copied after all. [Flow] is the part that other modes share
// whose kernel side notifies in the same way.
package msgzc

import (
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"golang.org/x/sys/unix"
)

// Sender sends with MSG_ZEROCOPY.
type Sender struct {
	flow Flow
	mem  []byte
}

// New makes a sender. The socket needs sock.Options.ZeroCopy.
func New(stream.Options) (*Sender, error) {
	s := &Sender{flow: Flow{Op: "send with MSG_ZEROCOPY"}}
	s.flow.Call = func(fd, off, n int) (int, unix.Errno) {
		return sock.Send(fd, s.mem[off:off+n], unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL|unix.MSG_ZEROCOPY)
	}
	return s, nil
}

// Send sends until c.Stopping, then waits for all notifications.
func (s *Sender) Send(c *stream.Conn, p *stream.Payload, m *stream.Meter) error {
	s.mem = p.Memory()
	return s.flow.Send(c, p, m)
}

// Close does nothing: the kernel unpins with the socket.
func (s *Sender) Close() error { return nil }
