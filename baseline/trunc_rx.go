// SPDX-License-Identifier: MIT

package baseline

import (
	"time"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"golang.org/x/sys/unix"
)

// truncReceiver is the mode tcp-trunc: recv(2) with MSG_TRUNC, for which TCP
// drops the payload in the kernel. It bounds what any receiver could gain by
// not copying; no application can use the data.
type truncReceiver struct {
	read   int
	socket sock.Options
	gather *stream.Gathering
}

// newTruncReceiver needs no memory.
func newTruncReceiver(o stream.Options) (*truncReceiver, error) {
	read := o.ReadBytes
	if read == 0 {
		read = max(defaultReadBytes, o.MessageBytes)
	}
	return &truncReceiver{read: read, socket: o.Socket, gather: stream.NewGathering(o)}, nil
}

// Attach does nothing.
func (r *truncReceiver) Attach(*stream.Conn, stream.Hello) error { return nil }

// Receive drops payload until the sender ends the flow.
func (r *truncReceiver) Receive(c *stream.Conn, m *stream.Meter) error {
	if err := sock.Blocking(c.FD, waitMs*time.Millisecond); err != nil {
		return err
	}
	wait, err := stream.NewWaiting(c.FD, r.socket)
	if err != nil {
		return err
	}
	defer wait.Close()
	for {
		n, errno := sock.Discard(c.FD, r.read, wait.Next(waitMs*time.Millisecond, m))
		m.Wait()
		wait.Took(errno == 0 && n == r.read)
		switch {
		case n > 0 && errno == 0:
			if m.Bytes(n); n < r.read {
				r.gather.Let(m)
			}
		case errno == 0:
			return c.Aborted()
		case errno != unix.EINTR && errno != unix.EAGAIN:
			return stream.ReceiveError(c, "recv with MSG_TRUNC", errno)
		}
	}
}

// Evidence returns how the receiver waited.
func (r *truncReceiver) Evidence() stream.Evidence {
	return stream.Evidence{Figures: r.gather.Figures()}
}

// Close does nothing.
func (r *truncReceiver) Close() error { return nil }
