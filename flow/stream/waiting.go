// SPDX-License-Identifier: MIT

package stream

import (
	"errors"
	"fmt"
	"time"

	"github.com/zcbench/zcbench/flow/sock"
	"golang.org/x/sys/unix"
)

// Waiting is how a path waits for its socket by epoll, which polls the socket's queue
// ([sock.Epoll.Poll]). A nil one leaves the waiting to the calls that receive.
type Waiting struct {
	ep   *sock.Epoll
	only bool // calls that receive never wait
	left bool // what came last may not have been all
}

// NewWaiting makes it where waits by epoll are to poll; nil where they are not.
func NewWaiting(fd int, o sock.Options) (*Waiting, error) {
	if o.EpollUs == 0 {
		return nil, nil
	}
	ep, err := sock.NewPollingEpoll(o)
	if err != nil {
		return nil, err
	}
	if errno := ep.Add(fd, 0, sock.CanRead|sock.PeerDone); errno != 0 {
		return nil, errors.Join(fmt.Errorf("epoll_ctl: %w", errno), ep.Close())
	}
	return &Waiting{ep: ep, only: o.OnlyEpoll}, nil
}

// Next waits until there is something to be taken, for limit at most, unless the last call left
// something, where calls that receive are not to wait. It returns the flags of the call that comes
// now.
func (w *Waiting) Next(limit time.Duration, m *Meter) (flags int) {
	if w == nil || !w.only {
		return 0
	}
	if !w.left {
		_, _ = w.ep.Wait(limit) // what is wrong with the socket, the call says
		m.Wait()
	}
	return unix.MSG_DONTWAIT
}

// Took says whether a call may have left something.
func (w *Waiting) Took(left bool) {
	if w != nil {
		w.left = left
	}
}

// For waits until the socket can be read, or its peer has ended; wait does it where w is nil.
func (w *Waiting) For(wait *sock.Waiter, fd int, limit time.Duration) (ready, ended bool) {
	if w == nil {
		ev, _ := wait.WaitFor(fd, unix.POLLIN|unix.POLLRDHUP, limit)
		return ev != 0, ev&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
	}
	n, _ := w.ep.Wait(limit)
	if n == 0 {
		return false, false
	}
	_, ev := w.ep.Event(0)
	return true, ev&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0
}

// Close ends it.
func (w *Waiting) Close() error {
	if w == nil {
		return nil
	}
	return w.ep.Close()
}
