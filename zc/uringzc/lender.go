// SPDX-License-Identifier: MIT

package uringzc

import (
	"errors"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"golang.org/x/sys/unix"
)

// lender is memory that a flow's requests, or answers, are sent from with SEND_ZC. Notifications
// come by its own ring, so they wake nobody who waits for the socket.
type lender struct {
	*flow
	buf  *stream.Buffer
	wait sock.Waiter
}

// NewLender makes so many bytes of it, and a ring, owned by the calling thread.
func NewLender(o stream.Options, size int) (stream.Lender, error) {
	buf, err := stream.NewBuffer(size)
	if err != nil {
		return nil, err
	}
	f, err := newFlow(o)
	if err != nil {
		return nil, errors.Join(err, buf.Close())
	}
	l := &lender{flow: f, buf: buf}
	if err := l.register(buf.Bytes()); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *lender) Size() int                                   { return len(l.mem) }
func (l *lender) Room(off, n int) ([]byte, error)             { return l.mem[off : off+n], nil }
func (l *lender) LetGo() uint64                               { return l.letGo }
func (l *lender) Reap(*stream.Conn, *stream.Meter) error      { return nil }
func (l *lender) Await(_ *stream.Conn, m *stream.Meter) error { return l.take(m) }
func (l *lender) Drain(c *stream.Conn, m *stream.Meter) error { return l.drain(c, m, false) }

// AwaitRoom asks the socket: none of the ring's notifications says that it has room. Where the
// kernel copies at once, none is owed while it is full.
func (l *lender) AwaitRoom(c *stream.Conn, m *stream.Meter) error {
	l.wait.Wait(c.FD, unix.POLLOUT, int(waitTime.Milliseconds()))
	m.Wait()
	return nil
}

func (l *lender) Offer(c *stream.Conn, off, n int, m *stream.Meter) (int, error) {
	return l.send(c, off, n, unix.MSG_DONTWAIT, m)
}

// Close frees the ring, then the memory that was registered with it.
func (l *lender) Close() error { return errors.Join(l.flow.Close(), l.buf.Close()) }

// Evidence returns what is untold of what was sent.
func (l *lender) Evidence() stream.Evidence {
	return stream.Evidence{Figures: l.fate.Figures(), Notes: l.fate.Notes(), UringEngine: string(l.ring.Engine())}
}
