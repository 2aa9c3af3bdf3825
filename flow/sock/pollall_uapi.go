// SPDX-License-Identifier: MIT

package sock

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// WaiterOfAll is [Waiter] for several sockets.
type WaiterOfAll struct {
	pfds []pollFd
	ts   unix.Timespec
}

// Add adds a socket to be waited for with events (unix.POLLIN...). It has the next number, from 0.
func (w *WaiterOfAll) Add(fd int, events int16) {
	w.pfds = append(w.pfds, pollFd{fd: int32(fd), events: events})
}

// Leave no longer waits for socket number i.
func (w *WaiterOfAll) Leave(i int) { w.pfds[i].fd, w.pfds[i].revents = -1, 0 }

// Wait sleeps until one of the sockets has an event, or limit has passed. A signal counts as a
// time-out. n is how many have one, see Has.
//
//go:noinline
func (w *WaiterOfAll) Wait(limit time.Duration) (n int, errno unix.Errno) {
	w.ts = unix.NsecToTimespec(limit.Nanoseconds())
	k, _, e := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(unsafe.SliceData(w.pfds))), uintptr(len(w.pfds)),
		uintptr(unsafe.Pointer(&w.ts)), 0, 0, 0)
	if e == unix.EINTR {
		k, e = 0, 0
	}
	if k == 0 || e != 0 {
		for i := range w.pfds {
			w.pfds[i].revents = 0
		}
		return 0, e
	}
	return int(k), 0
}

// Has reports whether socket number i had an event after the last Wait.
func (w *WaiterOfAll) Has(i int) bool { return w.pfds[i].revents != 0 }
