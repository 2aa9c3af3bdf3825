// SPDX-License-Identifier: MIT

package sock

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Napper sleeps for a fixed time, without allocating and without a word to the Go scheduler:
// see [Waiter.Wait].
type Napper struct{ ts unix.Timespec }

// NewNapper makes one that sleeps for d.
func NewNapper(d time.Duration) *Napper {
	return &Napper{unix.NsecToTimespec(d.Nanoseconds())}
}

// Nap calls clock_nanosleep(2). A signal, such as the runtime's, ends it early.
//
//go:noinline
func (n *Napper) Nap() {
	unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&n.ts)), 0, 0, 0)
}
