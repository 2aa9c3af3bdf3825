// SPDX-License-Identifier: MIT

package sock

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Sleeper lets a data path's thread sleep for a time, as [Waiter] does for a socket: the Go
// scheduler is not told of it, and a signal ends it early.
type Sleeper struct{ ts unix.Timespec }

// Sleep sleeps for d, or until a signal.
//
//go:noinline
func (s *Sleeper) Sleep(d time.Duration) {
	s.ts = unix.NsecToTimespec(d.Nanoseconds())
	unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&s.ts)), 0, 0, 0)
}

// Punctual makes the calling thread's sleeps end on time: the kernel may else let them last
// 50 us longer, to wake up for several at once (prctl(2), PR_SET_TIMERSLACK).
func Punctual() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }
