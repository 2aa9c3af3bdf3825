// SPDX-License-Identifier: MIT

package rtnl

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// ErrOtherAnswer is why the answer to a request is not known: the socket had that to another.
var ErrOtherAnswer = errors.New("netlink gave the answer to another request")

// Socket is what sockets of route and generic netlink have alike.
type Socket interface {
	SetReadDeadline(time.Time) error
	SyscallConn() (syscall.RawConn, error)
}

// Turns gives a netlink socket to one request at a time, and each request its own answer. A socket
// is not replaced when it has failed: it may be of another network namespace than the thread's, and
// what is bound to it would end.
type Turns struct {
	mu   sync.Mutex
	owed bool // an answer that nobody has read may lie in the socket
}

// answeredWithin is how long an answer may take to lie in the socket, once the request is sent. The
// kernel does what it is asked for while it is sent (netlink_unicast_kernel of
// net/netlink/af_netlink.c), and answers before that returns: how long a driver takes has no limit.
// An answer that the kernel has dropped never comes.
const answeredWithin = 2 * time.Minute

// Take sends a request and receives its answer. The errors name it as what, with its number.
func (t *Turns) Take(s Socket, what string, number int, send func() (netlink.Message, error),
	receive func() ([]netlink.Message, error)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.owed = t.owed && !emptied(s)
	asked, err := send()
	if err == nil {
		_ = s.SetReadDeadline(time.Now().Add(answeredWithin)) // what stands for a socket in tests has none
		var got []netlink.Message
		if got, err = receive(); err == nil {
			err = netlink.Validate(asked, got)
		}
		err = t.explained(err, asked, what, number)
	}
	t.owed = t.owed || err != nil
	return err
}

// explained returns an error that is of the request asked. An errno of another is left out: callers
// would take it for theirs.
func (*Turns) explained(err error, asked netlink.Message, what string, number int) error {
	var nl *netlink.OpError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%s has not answered request %d for %v: %w", what, number, answeredWithin,
			os.ErrDeadlineExceeded)
	case errors.As(err, &nl) && (nl.Op == "validate" || nl.Sequence != 0 && nl.Sequence != asked.Header.Sequence):
		return fmt.Errorf("request %d of %s: %w: %v", number, what, ErrOtherAnswer, err)
	}
	return err
}

// emptied takes out of the socket all that lies there, and reports whether it got to the end. Where
// the kernel has more of a list, it comes as room gets free.
func emptied(s Socket) (empty bool) {
	raw, err := s.SyscallConn()
	if err != nil {
		return true // what stands for a socket in tests keeps nothing
	}
	err = raw.Control(func(fd uintptr) {
		for err = nil; err == nil || err == unix.EINTR || err == unix.ENOBUFS; {
			_, _, err = unix.Recvfrom(int(fd), nil, unix.MSG_DONTWAIT|unix.MSG_TRUNC)
		}
		empty = err == unix.EAGAIN
	})
	return empty
}
