// SPDX-License-Identifier: MIT

package stream

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"syscall"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"
)

// connecting keeps a descriptor of a socket that Go connects, and closes where it fails: what an
// ICMP message said of the connection is in the socket's error queue.
type connecting struct {
	fd int // -1: none
	v6 bool
}

// watch is called before the socket connects.
func (w *connecting) watch(c syscall.RawConn) error {
	w.close() // of the address that was tried before
	return c.Control(func(fd uintptr) {
		if dup, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0); err == nil {
			w.fd = dup // else nothing is known of ICMP
		}
		family, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_DOMAIN)
		w.v6 = err == nil && family == unix.AF_INET6
		w.hear(1)
	})
}

// hear lets IPv6 put ICMP messages into the error queue (net/ipv6/datagram.c: ipv6_icmp_error). A
// flow that is open must not: they would end it.
func (w *connecting) hear(on int) {
	if w.v6 && w.fd >= 0 {
		_ = unix.SetsockoptInt(w.fd, unix.SOL_IPV6, unix.IPV6_RECVERR, on) // without it less is known
	}
}

// opened is called when the socket is connected.
func (w *connecting) opened() { w.hear(0) }

func (w *connecting) close() {
	if w.fd >= 0 {
		unix.Close(w.fd)
		w.fd = -1
	}
}

// failed says what may be the cause of a connection that could not be made.
func (w *connecting) failed(ctx context.Context, addr string, err error) error {
	on := remedy.On{Together: isTogether(ctx)}
	on.Remote, _ = netip.ParseAddrPort(addr)
	if w.fd >= 0 {
		on.Answer = remedy.AnswerOf(w.fd)
	}
	call := remedy.Connect
	var sys *os.SyscallError
	if errors.As(err, &sys) && sys.Syscall == "socket" {
		call = remedy.Socket
	}
	e := remedy.Error(call, "connect to "+addr, err, on)
	var errno unix.Errno
	switch fix := fault.Fix(err); {
	case fix != "": // an option of the socket
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		e.Err, e.How = &noAnswer{err}, remedy.How(call, unix.ETIMEDOUT, on)
	case errors.As(err, &errno):
		e.Err = errno
		if on.Answer != nil {
			e.Err = &answered{errno, on.Answer}
		}
		// One that is waited for may say why it is late; one that listens has nothing to say.
		e.Peer = errno == unix.ECONNREFUSED && !on.Together && on.Answer == nil
	}
	return e
}

// answered is an errno that an ICMP message made. Its text is not that of the errno: "no route to
// host" says of a firewall what is not so.
type answered struct {
	errno  unix.Errno
	answer *remedy.Answer
}

func (e *answered) Error() string { return e.answer.String() + " (" + fault.ErrnoName(e.errno) + ")" }
func (e *answered) Unwrap() error { return e.errno }

// noAnswer is that the time was up.
type noAnswer struct{ err error }

func (*noAnswer) Error() string   { return "no answer in time" }
func (e *noAnswer) Unwrap() error { return e.err }
