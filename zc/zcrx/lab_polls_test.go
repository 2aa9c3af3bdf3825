// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// TestLabPolls receives with zcrx while its ring polls, and in the long run by each way to poll, with
// plain sockets, io_uring and devmem, too.
func TestLabPolls(t *testing.T) {
	for _, rx := range []string{zcrx.Mode, "tcp", "uring", "devmem"}[:long.Rounds(1, 4)] {
		t.Run(rx, func(t *testing.T) { labtest.Polls(t, rx, rx == zcrx.Mode || rx == "uring") })
	}
}

// What was set of NAPI does not outlive a run that is killed.
func TestLabKilledPoll(t *testing.T) {
	labtest.KilledPoll(t, "tcp", "suspend")
	if long.Wanted() {
		labtest.KilledPoll(t, zcrx.Mode, "threaded")
	}
}
