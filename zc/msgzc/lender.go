// SPDX-License-Identifier: MIT

package msgzc

import (
	"github.com/zcbench/zcbench/flow/stream"
)

// lender is memory that a flow's requests, or answers, are sent from with MSG_ZEROCOPY.
type lender struct {
	*Sender
	buf *stream.Buffer
}

// NewLender makes so many bytes of it. The socket needs sock.Options.ZeroCopy.
func NewLender(o stream.Options, size int) (stream.Lender, error) {
	buf, err := stream.NewBuffer(size)
	if err != nil {
		return nil, err
	}
	s, err := New(o)
	if err != nil {
		return nil, err
	}
	s.mem = buf.Bytes()
	return &lender{s, buf}, nil
}

func (l *lender) Size() int                                       { return len(l.mem) }
func (l *lender) Room(off, n int) ([]byte, error)                 { return l.mem[off : off+n], nil }
func (l *lender) LetGo() uint64                                   { return l.flow.LetGo() }
func (l *lender) Reap(c *stream.Conn, m *stream.Meter) error      { return l.flow.Reap(c, m) }
func (l *lender) AwaitRoom(c *stream.Conn, m *stream.Meter) error { return l.flow.AwaitRoom(c, m) }
func (l *lender) Await(c *stream.Conn, m *stream.Meter) error     { return l.flow.Await(c, m) }
func (l *lender) Drain(c *stream.Conn, m *stream.Meter) error     { return l.flow.Drain(c, m) }

func (l *lender) Offer(c *stream.Conn, off, n int, m *stream.Meter) (int, error) {
	return l.flow.Offer(c, off, n, m)
}

func (l *lender) Close() error { return l.buf.Close() }
