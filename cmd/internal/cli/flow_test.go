// SPDX-License-Identifier: MIT

package cli

import (
	"errors"
	"testing"
	"time"

	_ "github.com/zcbench/zcbench/bench/modes"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/results"
)

// A sender of its own is held to a request for each flow, too.
func TestScheduleOfTooFewRequests(t *testing.T) {
	e := End{Role: stream.TX, Cell: results.Cell{TX: "rr", Flows: 4, RRRate: 1}, Duration: 2 * time.Second}
	const want = "--rr-rate 1: 2 requests are due in 2s, of all flows together, and each of 4 flows needs one: ask for 2 or more, or measure for 4s or longer, or use at most 2 flows"
	status := (*StatusError)(nil)
	if _, err := e.Schedule(0); !errors.As(err, &status) || status.Status != Usage || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
	e.Duration = 4 * time.Second
	if s, err := e.Schedule(0); err != nil || s.DurationNs != 4e9 {
		t.Errorf("%+v, %v", s, err)
	}
}
