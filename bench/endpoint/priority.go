// SPDX-License-Identifier: MIT

package endpoint

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// hurry gives the calling goroutine a thread that is scheduled before others, so
// that the edges of the window are read in time although the data paths keep
// their CPUs busy. Where it is not allowed, nothing changes. The returned
// function undoes it.
func hurry() (calm func()) {
	runtime.LockOSThread()
	tid := unix.Gettid()
	before, err := unix.Getpriority(unix.PRIO_PROCESS, tid)
	if err != nil || first(tid, -20, shortSlice) != nil {
		return runtime.UnlockOSThread
	}
	return func() {
		// The system call returns 20 - nice.
		if first(tid, 20-before, 0) == nil {
			runtime.UnlockOSThread()
		} // else the thread ends with its goroutine
	}
}

// shortSlice is the shortest time for which a thread may ask. The kernel lets one with a short time
// interrupt one with a long one, which else keeps its CPU for some milliseconds (since Linux 6.12;
// before it takes no notice).
const shortSlice = 100 * time.Microsecond

// first sets how soon a thread gets a CPU; a slice of 0 is the usual one.
func first(tid, nice int, slice time.Duration) error {
	return unix.SchedSetAttr(tid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL,
		Nice: int32(nice), Runtime: uint64(slice)}, 0)
}
