// SPDX-License-Identifier: MIT

package endpoint

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// hurry gives the calling goroutine a thread that is scheduled before others, so
// that the edges of the window are read in time although the data paths keep
// their CPUs busy. Where it is not allowed, nothing changes; nor where the thread
// has a policy of its own, such as SCHED_FIFO, which it keeps. The returned
// function undoes it.
func hurry() (calm func()) {
	runtime.LockOSThread()
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil || before.Policy != unix.SCHED_NORMAL && before.Policy != unix.SCHED_BATCH {
		return runtime.UnlockOSThread
	}
	first := *before
	first.Nice, first.Runtime = -20, uint64(shortSlice)
	if unix.SchedSetAttr(0, &first, 0) != nil {
		return runtime.UnlockOSThread
	}
	return func() {
		if unix.SchedSetAttr(0, before, 0) == nil {
			runtime.UnlockOSThread()
		} // else the thread ends with its goroutine
	}
}

// shortSlice is the shortest time for which a thread may ask. The kernel lets one with a short time
// interrupt one with a long one, which else keeps its CPU for some milliseconds (since Linux 6.12;
// before it takes no notice).
const shortSlice = 100 * time.Microsecond
