// SPDX-License-Identifier: MIT

package bench

import (
	"errors"

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
		distrust(rec, role.Label(),
			&fault.NonsenseError{Err: err,
				How: "the agent is not the one the controller started, or this is a bug of zcbench: please report it"})
	}
}
