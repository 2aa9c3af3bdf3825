// SPDX-License-Identifier: MIT

package endpoint

import (
	"runtime"

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
	if err != nil || unix.Setpriority(unix.PRIO_PROCESS, tid, -20) != nil {
		return runtime.UnlockOSThread
	}
	return func() {
		// The system call returns 20 - nice.
		if unix.Setpriority(unix.PRIO_PROCESS, tid, 20-before) == nil {
			runtime.UnlockOSThread()
		} // else the thread ends with its goroutine
	}
}
