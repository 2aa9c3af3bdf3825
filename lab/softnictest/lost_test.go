// SPDX-License-Identifier: MIT

package softnictest

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"reflect"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/nic"
)

// One datagram goes there and one comes back, so that every interrupt that is lost is the
// end: nothing else would poll the queue, and UDP sends nothing again. Once in the plain
// way; once with data moved, and NAPI scheduled, by who sends; with interrupts deferred; and
// with sockets that poll the queue themselves, where NAPI is never done (busy_poll_stop,
// net/core/dev.c); with epoll that does, and keeps interrupts off while there are events
// (napi_suspend_irqs).
func TestNoInterruptIsLost(t *testing.T) {
	needLab(t)
	quick := nic.NAPISettings{DeferHardIRQs: 2, GROFlushTimeoutNs: 200e3}
	suspended := nic.NAPISettings{DeferHardIRQs: 2, GROFlushTimeoutNs: 200e3, IRQSuspendNs: 5e6}
	for i, tc := range []struct {
		name   string
		inline bool
		napi   nic.NAPISettings
		busy   busy
	}{
		{name: "plain"},
		{name: "in-line", inline: true},
		{name: "deferred", napi: quick},
		{name: "busy polling", busy: busy{us: 50}},
		{name: "busy polling preferred", napi: quick, busy: busy{us: 50, prefer: true}},
		{name: "suspended", napi: suspended, busy: busy{us: 50, prefer: true, epoll: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			param(t, "inline_dma", map[bool]string{false: "N", true: "Y"}[tc.inline])
			napi(t, tc.napi)
			port := 5070 + i
			there := udp(t, rx.NS, netip.AddrPortFrom(v4.addr(), uint16(port)), tc.busy)
			here := udp(t, tx.NS, netip.AddrPortFrom(netip.IPv4Unspecified(), uint16(port)), tc.busy)
			rounds := long.Rounds(100, 2000)
			echoed := make(chan error, 1)
			receive := receiver(t, there, tc.busy)
			go func() { echoed <- echo(there, rounds, receive) }()
			if err := ask(here, netip.AddrPortFrom(v4.addr(), uint16(port)), rounds); err != nil {
				t.Error(err)
			}
			if err := <-echoed; err != nil {
				t.Error(err)
			}
		})
	}
}

// busy says how a socket polls the queue itself while it waits.
type busy struct {
	us     int
	prefer bool // SO_PREFER_BUSY_POLL: interrupts stay off between polls
	epoll  bool // epoll polls the queue of the receiver's end, not the socket
}

// udp is a blocking socket: only those poll while they wait.
func udp(t *testing.T, ns string, at netip.AddrPort, b busy) (fd int) {
	t.Helper()
	fd = in(t, ns, func() (int, error) {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return 0, err
		}
		wait := unix.NsecToTimeval(await.Hang.Nanoseconds())
		err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait)
		if err == nil {
			err = b.set(fd)
		}
		if err == nil {
			err = unix.Bind(fd, sockaddr(at))
		}
		if err != nil {
			unix.Close(fd)
		}
		return fd, err
	})
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

func (b busy) set(fd int) error {
	if b.us == 0 || b.epoll {
		return nil
	}
	err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BUSY_POLL, b.us)
	if err == nil && b.prefer {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PREFER_BUSY_POLL, 1)
	}
	return err
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
}

// receiver returns how a socket's next datagram is waited for: in the call that takes it, or
// by epoll, which polls its queue (EPIOCSPARAMS, include/uapi/linux/eventpoll.h, 6.9).
func receiver(t *testing.T, fd int, b busy) func(p []byte) (int, unix.Sockaddr, error) {
	t.Helper()
	if !b.epoll {
		return func(p []byte) (int, unix.Sockaddr, error) { return recvfrom(fd, p, 0) }
	}
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(ep) })
	params := make([]byte, 8) // struct epoll_params: microseconds, budget, whether it is preferred
	binary.NativeEndian.PutUint32(params, uint32(b.us))
	binary.NativeEndian.PutUint16(params[4:], 8)
	params[6] = 1
	const epiocsparams = 0x40088a01
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(ep), epiocsparams, reflect.ValueOf(params).Pointer())
	runtime.KeepAlive(params)
	if errno != 0 {
		t.Fatal("EPIOCSPARAMS:", errno)
	}
	if err := unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
		t.Fatal(err)
	}
	return func(p []byte) (int, unix.Sockaddr, error) {
		events := make([]unix.EpollEvent, 1)
		n, err := 0, error(unix.EINTR) // by Go's own signals
		for err == unix.EINTR {
			n, err = unix.EpollWait(ep, events, int(await.Hang.Milliseconds()))
		}
		if err == nil && n == 0 {
			err = unix.EAGAIN
		}
		if err != nil {
			return 0, nil, err
		}
		return recvfrom(fd, p, unix.MSG_DONTWAIT)
	}
}

// recvfrom begins anew when it is interrupted, which a socket with a limit of time does not do
// by itself (signal(7)): Go has signals of its own.
func recvfrom(fd int, p []byte, flags int) (n int, from unix.Sockaddr, err error) {
	for err = unix.EINTR; err == unix.EINTR; {
		n, from, err = unix.Recvfrom(fd, p, flags)
	}
	return n, from, err
}

// echo sends datagrams back to where they came from.
func echo(fd, rounds int, receive func([]byte) (int, unix.Sockaddr, error)) error {
	b := make([]byte, 64)
	for i := range rounds {
		n, from, err := receive(b)
		if err == nil {
			err = unix.Sendto(fd, b[:n], 0, from)
		}
		if err != nil {
			return fmt.Errorf("datagram %d did not come: %w", i, err)
		}
	}
	return nil
}

// ask sends a datagram and waits for it to come back, and so on.
func ask(fd int, to netip.AddrPort, rounds int) error {
	b := make([]byte, 64)
	for i := range rounds {
		if err := unix.Sendto(fd, fmt.Appendf(nil, "%d", i), 0, sockaddr(to)); err != nil {
			return err
		}
		n, _, err := recvfrom(fd, b, 0)
		if err != nil {
			return fmt.Errorf("datagram %d did not come back: %w", i, err)
		}
		if got, want := string(b[:n]), fmt.Sprint(i); got != want {
			return fmt.Errorf("%q came back for %q", got, want)
		}
	}
	return nil
}
