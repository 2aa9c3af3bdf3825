// SPDX-License-Identifier: MIT

package endpoint

import (
	"runtime"
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"golang.org/x/sys/unix"
)

// slack is the timer slack of a thread of its own after exactSleeps, nanoseconds.
func slack(t *testing.T, o stream.Options) int {
	t.Helper()
	c := make(chan int)
	go func() {
		runtime.LockOSThread() // ends with the goroutine
		if unix.Gettid() == unix.Getpid() {
			ns := slack(t, o) // the main thread does not end: while it is taken, this is another
			runtime.UnlockOSThread()
			c <- ns
			return
		}
		if err := exactSleeps(o); err != nil {
			t.Error(err)
		}
		ns, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
		if err != nil {
			t.Error(err)
		}
		c <- ns
	}()
	return <-c
}

// Who gathers sleeps exactly; who does not keeps the slack that the process has.
func TestExactSleeps(t *testing.T) {
	usual, exact := slack(t, stream.Options{}), slack(t, stream.Options{Gather: time.Microsecond})
	if exact != 1 || usual <= exact {
		t.Errorf("slack of %d ns, and of %d without gathering", exact, usual)
	}
}
