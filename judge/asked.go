// SPDX-License-Identifier: MIT

package judge

import (
	"errors"
	"fmt"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/results"
)

// askedTrips makes a run failed of which an end tells of round trips that its cell has not, or of
// none where it has: by them figures of payload are left out.
func askedTrips(rec *results.Record) {
	for _, role := range ends.Roles {
		h, asked := rec.Host(role), rec.Cell.RoundTrips()
		if rec.Verdict != results.OK || (h.Transactions != nil) == asked && (h.RoundTrip == nil || asked) {
			continue
		}
		err := errors.New("figures of round trips, but a stream was requested")
		if asked {
			err = errors.New("no round trips were counted, though they were requested")
		}
		Distrust(rec, role.Label(),
			&fault.NonsenseError{Err: err,
				How: "the agent is not the one the controller started, or this is a bug of zcbench: please report it"})
	}
}

// distrust makes a run failed whose agent, asked for its power, answered nonsense:
// its other figures are worth no more.
func Distrust(rec *results.Record, end string, err error) {
	if n := (*fault.NonsenseError)(nil); errors.As(err, &n) && rec.Verdict != results.Failed {
		rec.Verdict, rec.Reason, rec.Fix = results.Failed, end+": "+err.Error(), n.Fix()
	}
}

// countFlows makes a run failed that both ends call well, and of which one tells of another
// number of flows than it was asked for.
func countFlows(rec *results.Record) {
	want := rec.Cell.NFlows()
	for _, role := range ends.Roles {
		n := len(rec.Host(role).Flows)
		if rec.Verdict != results.OK || n == want || n == 0 && want == 1 {
			continue
		}
		Distrust(rec, role.Label(), &fault.NonsenseError{Err: fmt.Errorf("figures of %d flows, but %d were requested",
			n, want),
			How: "the agent is not the one the controller started, or this is a bug of zcbench: please report it"})
	}
}
