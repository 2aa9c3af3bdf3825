// SPDX-License-Identifier: MIT

package sock

import (
	"context"
	"net"
	"testing"

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

func await(t testing.TB, fd int, events int16) int16 {
	t.Helper()
	var w Waiter
	r, errno := w.Wait(fd, events, 5000)
	if r == 0 || errno != 0 {
		t.Fatalf("waited in vain for %#x: %v", events, errno)
	}
	return r
}
