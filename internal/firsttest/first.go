// SPDX-License-Identifier: MIT

// Package firsttest is for tests that hold one clock against another: nothing may come between
// the two readings.
package firsttest

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Thread lets no other thread take the CPU from this one until the test's goroutine ends, and this
// thread with it (SCHED_FIFO, see sched(7)). It needs root. What the thread starts has the policy
// of others.
func Thread(t testing.TB) {
	t.Helper()
	runtime.LockOSThread() // and never let go: the thread ends with the test
	a := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1,
		Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	if err := unix.SchedSetAttr(0, &a, 0); err != nil {
		t.Fatalf("sched_setattr: %v", err)
	}
}
