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
	labtest.BothTrips(t, zcrx.Mode, "rr-uring-zc")
}

// Requests and answers are sent without a copy, too: by SEND_ZC, and in the long run from a dmabuf.
func TestLabLentTrips(t *testing.T) {
	for _, tx := range []string{"uring-zc", "devmem"}[:long.Rounds(1, 2)] {
		t.Run(tx, func(t *testing.T) { labtest.LentTrips(t, zcrx.Mode, tx) })
	}
}

// A connection for each request, by one rule for the port.
func TestLabVisits(t *testing.T) { labtest.Visits(t, zcrx.Mode) }

// Both ends receive without a copy, and send, at once.
func TestLabBoth(t *testing.T) { labtest.Both(t, zcrx.Mode, "uring-zc") }
