// SPDX-License-Identifier: MIT

package place

import (
	"testing"

	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/remedy/remedytest"
	"golang.org/x/sys/unix"
)

// Each errno that the kernel may give to who binds a thread that polls has the table's words.
func TestRefusedThreads(t *testing.T) {
	p := &Placement{Dev: "v0", threads: []threadOn{{pid: unix.Getpid(), cpu: 0}}}
	bind := func() error { return p.pin(unix.Getpid(), 3, 0) }
	remedytest.Try(t, remedy.PinKernel, "queue 3 of v0 to CPU 0", remedytest.Denied(unix.SYS_SCHED_SETAFFINITY, bind))
	remedytest.Try(t, remedy.PinnedWhere, "polled v0", remedytest.Denied(unix.SYS_SCHED_GETAFFINITY, p.checkThreads))
}
