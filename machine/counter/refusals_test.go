// SPDX-License-Identifier: MIT

package counter

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/remedy/remedytest"
)

// Each errno that the kernel may give to who asks for a counter has the table's words: it is left
// out, with the reason.
func TestRefusedCounters(t *testing.T) {
	remedytest.Try(t, remedy.PerfCount, "perf_event_open", func(errno unix.Errno) error {
		var why string
		if err := remedytest.Denied(unix.SYS_PERF_EVENT_OPEN, func() error {
			p := OpenPMU(FS{}, []int{0})
			defer p.Close()
			why = p.Missing[pmuCycles]
			return nil
		})(errno); err != nil {
			return err
		}
		if why == "" {
			return errors.New("it was not refused")
		}
		return &fault.Error{Op: why, Err: errno, How: why}
	})
}
