// SPDX-License-Identifier: MIT

package stream

import (
	"errors"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/sock"
	"golang.org/x/sys/unix"
)

// EndWatch looks for the end of a flow of packets, which its sender says by the connection
// beside it ([Conn].Words). It does not allocate.
type EndWatch struct {
	wait sock.Waiter
	in   [endedSize]byte
	have int
}

// Look reports, without waiting, whether the sender has ended the flow; then c.Sent is how many
// packets it says it sent. A sender that closes the connection without saying so has broken off. It
// belongs to the path's thread.
func (w *EndWatch) Look(c *Conn) (ended bool, err error) {
	for w.have < len(w.in) {
		n, errno := sock.Recv(c.words().FD, w.in[w.have:], unix.MSG_DONTWAIT)
		switch {
		case errno == unix.EAGAIN || errno == unix.EINTR:
			return false, nil
		case errno != 0:
			return false, ReceiveError(c, "wait for the sender to end the flow", errno)
		case n == 0:
			return false, brokenOff(c)
		}
		w.have += n
	}
	e, err := parseEnded(w.in[:])
	if err != nil {
		return false, &fault.Error{Op: "read the sender's end of the flow", Err: err, Peer: true,
			How: "both ends must run the same version of zcbench"}
	}
	c.Sent = e.Packets
	return true, nil
}

// Wait sleeps until the sender has said something, or limit has passed, or a signal came.
func (w *EndWatch) Wait(c *Conn, limit time.Duration) {
	_, _ = w.wait.WaitFor(c.words().FD, unix.POLLIN, limit) // Look tells what is wrong
}

func brokenOff(c *Conn) error {
	if err := c.Aborted(); err != nil {
		return err
	}
	return &fault.Error{Op: "the sender broke off before the end of the flow",
		Err: errors.New("it closed the connection"), Peer: true,
		How: "it was stopped or killed: see its own message"}
}
