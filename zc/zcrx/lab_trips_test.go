// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// TestLabTrips has zcrx answer requests, and in the long run devmem, plain sockets and io_uring,
// too.
func TestLabTrips(t *testing.T) {
	for _, rx := range []string{zcrx.Mode, "devmem", "tcp", "uring"}[:long.Rounds(1, 4)] {
		t.Run(rx, func(t *testing.T) { labtest.Trips(t, rx, rx == zcrx.Mode || rx == "devmem") })
	}
}

// So are requests both ways.
func TestLabBothTrips(t *testing.T) {
	long.Test(t)
	labtest.BothTrips(t, zcrx.Mode)
}

// A connection for each request, by one rule for the port.
func TestLabVisits(t *testing.T) { labtest.Visits(t, zcrx.Mode) }

// Both ends receive without a copy, and send, at once.
func TestLabBoth(t *testing.T) { labtest.Both(t, zcrx.Mode, "uring-zc") }
