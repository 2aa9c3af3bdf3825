// SPDX-License-Identifier: MIT

package stream

import (
	"github.com/zcbench/zcbench/internal/fault"

	"golang.org/x/sys/unix"
)

// Left reports whether the sender of a flow that was accepted, but not yet welcomed, has gone; nil:
// it waits. A sender that gives up or is killed ends the stream, or the kernel resets it: both show
// in the socket at once (tcp_poll of net/ipv4/tcp.c, Linux 7.3.4). It takes nothing but the error
// of a socket that broke, and may be called beside the path's thread.
func (c *Conn) Left() error {
	c = c.words()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.FD < 0 || c.aborted.Load() {
		return nil // by us
	}
	p := []unix.PollFd{{Fd: int32(c.FD), Events: unix.POLLRDHUP}}
	if n, err := unix.Poll(p, 0); n == 0 || err != nil {
		return nil
	}
	gone := &fault.Error{Op: "the sender ended the flow before it was welcomed", Peer: true,
		How: "it gave up or was killed while other flows were awaited or steered: see its own message"}
	if errno, err := unix.GetsockoptInt(c.FD, unix.SOL_SOCKET, unix.SO_ERROR); err == nil && errno != 0 {
		gone.Err = unix.Errno(errno)
	}
	return gone
}
