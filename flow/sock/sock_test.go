// SPDX-License-Identifier: MIT

package sock

import (
	"context"
	"fmt"
	"net"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"golang.org/x/sys/unix"
)

// pair is both ends of a TCP connection over loopback as non-blocking
// descriptors that the test closes.
func pair(t testing.TB, addr string, o Options) (rx, tx int) {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Skipf("this kernel has no %s: %v", addr, err)
	}
	defer l.Close()
	c, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	rx, tx = own(t, s), own(t, c)
	if err := o.Apply(tx); err != nil {
		t.Fatal(err)
	}
	return rx, tx
}

// own takes the descriptor out of c.
func own(t testing.TB, c net.Conn) int {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	fd := -1
	raw.Control(func(f uintptr) { fd, err = unix.FcntlInt(f, unix.F_DUPFD_CLOEXEC, 0) })
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

func send(t testing.TB, fd int, p []byte, flags int) {
	t.Helper()
	if n, errno := Send(fd, p, flags|unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); n != len(p) || errno != 0 {
		t.Fatalf("sent %d of %d bytes: %v", n, len(p), errno)
	}
}

// ready waits until fd has one of events, or what is always told, and returns what it has.
func ready(t testing.TB, fd int, events int16) (r int16) {
	t.Helper()
	var w Waiter
	await.Until(t, fmt.Sprintf("events %#x", events), func() bool {
		var errno unix.Errno
		if r, errno = w.Wait(fd, events, 1000); errno != 0 {
			t.Fatal(errno)
		}
		return r != 0 // else a signal, such as the runtime's, may have come
	})
	return r
}
