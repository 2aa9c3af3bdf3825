// SPDX-License-Identifier: MIT

package devmem

import (
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/zc/dmabuf"
)

// lender is a dmabuf that a flow's requests, or answers, are sent from. The CPU writes them, so it
// has to reach the memory.
type lender struct {
	*Sender
	writing bool // between the ioctls that bracket what the CPU does
}

// NewLender makes so many bytes of it, at most [maxPayload], and binds them to the interface
// opt.NIC.Dev. The socket needs sock.Options.ZeroCopy.
func NewLender(opt stream.Options, size int) (stream.Lender, error) {
	s, err := openSender(opt, size, func(s *Sender) error {
		if s.mem.Bytes != nil {
			return nil
		}
		return &fault.Error{Op: "write requests and answers where the NIC reads them", Err: errDeviceMemory,
			How: "use a --tx-area in the host's memory, or tx rr"}
	})
	if err != nil {
		return nil, err
	}
	return &lender{Sender: s}, nil
}

func (l *lender) Size() int                                       { return l.size }
func (l *lender) LetGo() uint64                                   { return l.flow.LetGo() }
func (l *lender) Reap(c *stream.Conn, m *stream.Meter) error      { return l.flow.Reap(c, m) }
func (l *lender) AwaitRoom(c *stream.Conn, m *stream.Meter) error { return l.flow.AwaitRoom(c, m) }
func (l *lender) Await(c *stream.Conn, m *stream.Meter) error     { return l.flow.Await(c, m) }
func (l *lender) Drain(c *stream.Conn, m *stream.Meter) error     { return l.flow.Drain(c, m) }

// Room begins the CPU's access, where it has not begun.
func (l *lender) Room(off, n int) ([]byte, error) {
	if !l.writing {
		if err := l.mem.Begin(dmabuf.Write); err != nil {
			return nil, err
		}
		l.writing = true
	}
	return l.mem.Bytes[off : off+n], nil
}

// Offer ends it: now the NIC may read.
func (l *lender) Offer(c *stream.Conn, off, n int, m *stream.Meter) (int, error) {
	if l.writing {
		if err := l.mem.End(dmabuf.Write); err != nil {
			return 0, err
		}
		l.writing = false
	}
	return l.flow.Offer(c, off, n, m)
}
