// SPDX-License-Identifier: MIT

package stream

import (
	"net"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Of a name with addresses of both families Go connects two sockets at once. The one that stays
// gets no errors of ICMPv6, whichever was first, and what was kept of both is given back.
func TestTwoFamiliesAtOnce(t *testing.T) {
	w := &connecting{}
	six, four := rawConn(t, "udp6", "[::1]:0"), rawConn(t, "udp4", "127.0.0.1:0")
	var both sync.WaitGroup
	for _, c := range []syscall.RawConn{six, four} {
		both.Go(func() {
			if err := w.watch(c); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if got := recverr(t, six); got != 1 || len(w.sockets) != 2 {
		t.Errorf("IPV6_RECVERR %d before, %d sockets", got, len(w.sockets))
	}
	kept := w.sockets
	w.opened()
	if got := recverr(t, six); got != 0 {
		t.Errorf("IPV6_RECVERR %d of an open flow", got)
	}
	w.close()
	for _, s := range kept {
		if _, err := unix.FcntlInt(uintptr(s.fd), unix.F_GETFD, 0); err != unix.EBADF {
			t.Errorf("descriptor %d is left: %v", s.fd, err)
		}
	}
	if err := w.watch(six); err != nil || w.sockets != nil {
		t.Errorf("after the end: %v, %d sockets", err, len(w.sockets))
	}
}

func rawConn(t *testing.T, network, addr string) syscall.RawConn {
	t.Helper()
	c, err := net.ListenPacket(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	raw, err := c.(*net.UDPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func recverr(t *testing.T, c syscall.RawConn) (v int) {
	t.Helper()
	if err := c.Control(func(fd uintptr) {
		v, _ = unix.GetsockoptInt(int(fd), unix.SOL_IPV6,
			unix.IPV6_RECVERR)
	}); err != nil {
		t.Fatal(err)
	}
	return v
}
