// SPDX-License-Identifier: MIT

package endpoint

import (
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/remedy/remedytest"
	"golang.org/x/sys/unix"
)

// Each errno that the kernel may give to a data path's thread has the table's words.
func TestRefusedThreads(t *testing.T) {
	remedytest.Try(t, remedy.Pin, "to CPU 0", remedytest.Denied(unix.SYS_SCHED_SETAFFINITY,
		func() error { return pin(0) }))
	remedytest.Try(t, remedy.Slack, "PR_SET_TIMERSLACK", remedytest.DeniedIf(unix.SYS_PRCTL, 0, unix.PR_SET_TIMERSLACK,
		func() error { return exactSleeps(stream.Options{Gather: time.Millisecond}) }))
}
