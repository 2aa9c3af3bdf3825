// SPDX-License-Identifier: MIT

package counter

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// The process's clock lies between two readings of its usage.
func TestProcessClock(t *testing.T) {
	own := func() int64 {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
			t.Fatal(err)
		}
		return ts.Nano()
	}
	before := own()
	got, err := ProcessClock(os.Getpid())
	if after := own(); err != nil || got < before || got > after {
		t.Errorf("%d (%v), want %d to %d", got, err, before, after)
	}
	// Process numbers end at 1 << 22 (include/linux/threads.h: PID_MAX_LIMIT).
	if _, err := ProcessClock(1 << 23); err == nil {
		t.Error("a process that is not there has a clock")
	}
}
