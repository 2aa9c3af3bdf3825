// SPDX-License-Identifier: MIT

package counter

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Monotonic returns CLOCK_MONOTONIC in nanoseconds: the time base of every
// snapshot and sample. All processes of a host share it, also across network
// namespaces (a time namespace would shift it).
func Monotonic() int64 {
	ns, _ := clock(unix.CLOCK_MONOTONIC) // cannot fail on Linux
	return ns
}

// ThreadClock returns the CPU time, user and system, that thread tid of this
// process has used, in nanoseconds; 0 is the calling one. Unlike schedstat it is exact while the
// thread runs (posix-cpu-timers, task_sched_runtime). It fails with EINVAL when
// tid is not a living thread of this process.
//
// Without CONFIG_IRQ_TIME_ACCOUNTING the interrupts that a thread suffered are
// part of its clock.
func ThreadClock(tid int) (int64, error) {
	// MAKE_THREAD_CPUCLOCK(tid, CPUCLOCK_SCHED), include/linux/posix-timers.h.
	const schedPerThread = 2 | 4
	ns, err := clock(int32(^tid<<3 | schedPerThread))
	if err != nil {
		return 0, fmt.Errorf("read cpu clock of thread %d: %w: it must be a living thread of this process", tid, err)
	}
	return ns, nil
}

// ownThreadClock reads the CPU time of the calling thread, in nanoseconds.
func ownThreadClock() int64 {
	ns, _ := clock(unix.CLOCK_THREAD_CPUTIME_ID) // cannot fail on Linux
	return ns
}

func clock(id int32) (int64, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		return 0, err
	}
	return ts.Nano(), nil
}
