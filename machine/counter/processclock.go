// SPDX-License-Identifier: MIT

package counter

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// ProcessClock returns the CPU time, user and system, that all threads of a process have used, in
// nanoseconds. As with [ThreadClock] it has the interrupts that they suffered in it, without
// CONFIG_IRQ_TIME_ACCOUNTING.
func ProcessClock(pid int) (int64, error) {
	var ts unix.Timespec
	const sched = 2 // MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED), include/linux/posix-timers.h
	if err := unix.ClockGettime(int32(^pid<<3|sched), &ts); err != nil {
		return 0, fmt.Errorf("read cpu clock of process %d: %w: it must be a living process", pid, err)
	}
	return ts.Nano(), nil
}
