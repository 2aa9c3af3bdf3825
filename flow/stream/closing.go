// SPDX-License-Identifier: MIT

package stream

import (
	"errors"
	"time"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/sock"
	"golang.org/x/sys/unix"
)

// closeTime is how long a receiver may take to make room for the end of a flow.
const closeTime = 10 * time.Second

// closeNotify ends a flow whose records the kernel makes, and leaves the connection open until the
// receiver has said farewell. The kernel says of payload that it has been taken while it still
// keeps a part of its last record, which it sends by and by. It drops that part after shutdown(2),
// and fails the socket with EPIPE (net/tls/tls_sw.c: tls_tx_records).
func (c *Conn) closeNotify() error {
	var w sock.Waiter
	for end := time.Now().Add(closeTime); ; w.Wait(c.FD, unix.POLLOUT, 50) {
		err := records.Notify(c.FD)
		again := errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR)
		switch {
		case err == nil:
			return nil
		case !again || time.Now().After(end) || c.Aborted() != nil:
			return SendError(c, "end the payload by close_notify", err)
		}
	}
}
