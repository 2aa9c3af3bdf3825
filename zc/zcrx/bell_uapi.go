// SPDX-License-Identifier: MIT

package zcrx

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Who waits for another ring waits at the board's bell, a word that counts what happened. Rings are
// also those of other processes: the futex is not a private one.
const (
	futexWait = 0 // FUTEX_WAIT
	futexWake = 1 // FUTEX_WAKE
)

// strike wakes all that wait at the bell, to look at the board again.
func (b board) strike() {
	atomic.AddUint64(&b[bell], 1)
	const all = 1<<31 - 1
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, b.futex(), futexWake, all, 0, 0, 0) // nobody may wait
}

// heard is how often the bell was struck: to be read before one looks at what one waits for.
func (b board) heard() uint64 { return atomic.LoadUint64(&b[bell]) }

// wait sleeps until the bell is struck again after heard, at most so long. It may return earlier.
func (b board) wait(heard uint64, most time.Duration) {
	t := unix.NsecToTimespec(int64(max(most, 0)))
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, b.futex(), futexWait, uintptr(uint32(heard)), // struck, time out, signal
		uintptr(unsafe.Pointer(&t)), 0, 0)
}

// until waits until the board has something, and reports whether it has within a time.
func (b board) until(within time.Duration, has func() bool) bool {
	for end := time.Now().Add(within); ; {
		heard := b.heard()
		left := time.Until(end)
		if is := has(); is || left <= 0 {
			return is
		}
		b.wait(heard, left)
	}
}

// futex is the address of the bell's low half: zcbench runs where that comes first.
func (b board) futex() uintptr { return uintptr(unsafe.Pointer(&b[bell])) }
