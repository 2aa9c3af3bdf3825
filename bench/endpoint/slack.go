// SPDX-License-Identifier: MIT

package endpoint

import (
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// exactSleeps makes a path that gathers sleep exactly as long as it was told to. Otherwise the
// kernel may end a sleep of the calling thread up to 50 us late, to save wake-ups
// (PR_SET_TIMERSLACK of prctl(2)): as long as one gathers. io_uring's waits have none
// (io_cqring_schedule_timeout), and no mode shall have another offer than the others.
func exactSleeps(o stream.Options) error {
	if o.Gather == 0 {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return remedy.Error(remedy.Slack, "prctl PR_SET_TIMERSLACK", err, remedy.On{})
	}
	return nil
}
