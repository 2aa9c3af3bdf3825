// SPDX-License-Identifier: MIT

package stream

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"sync"
	"syscall"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"
)

// connecting keeps descriptors of the sockets that Go connects, and closes where it fails: what an
// ICMP message said of a connection is in its socket's error queue. Of a name with addresses of
// both families Go tries two at once.
type connecting struct {
	mu      sync.Mutex
	sockets []watched
	over    bool
}

// watched is one of them.
type watched struct {
	fd int
	v6 bool
}

// watch duplicates a socket that is about to connect, to hear the ICMP messages it gets.
func (w *connecting) watch(c syscall.RawConn) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over { // another was faster
		return nil
	}
	return c.Control(func(fd uintptr) {
		dup, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return // nothing is known of ICMP
		}
		family, err := unix.GetsockoptInt(dup, unix.SOL_SOCKET, unix.SO_DOMAIN)
		s := watched{fd: dup, v6: err == nil && family == unix.AF_INET6}
		s.hear(1)
		w.sockets = append(w.sockets, s)
	})
}

// hear lets IPv6 put ICMP messages into the error queue (net/ipv6/datagram.c: ipv6_icmp_error). A
// flow that is open must not: they would end it.
func (s watched) hear(on int) {
	if s.v6 {
		_ = unix.SetsockoptInt(s.fd, unix.SOL_IPV6, unix.IPV6_RECVERR, on) // without it less is known
	}
}

// opened stops listening for ICMP on all sockets, once one of them is connected.
func (w *connecting) opened() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sockets {
		s.hear(0)
	}
}

func (w *connecting) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sockets {
		unix.Close(s.fd)
	}
	w.sockets, w.over = nil, true
}

// answer returns the first ICMP message that came; nil: none.
func (w *connecting) answer() *remedy.Answer {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sockets {
		if a := remedy.AnswerOf(s.fd); a != nil {
			return a
		}
	}
	return nil
}

// failed explains why a connection could not be made, as far as can be known.
func (w *connecting) failed(ctx context.Context, addr string, err error) error {
	on := remedy.On{Together: isTogether(ctx), Answer: w.answer()}
	on.Remote, _ = netip.ParseAddrPort(addr)
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
