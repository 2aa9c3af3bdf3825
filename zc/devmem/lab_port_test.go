// SPDX-License-Identifier: MIT

package devmem_test

import (
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/labtest"
)

// One rule for the port, an RSS context, and one dmabuf on all of its queues: no flow is copied.
func TestLabPort(t *testing.T) {
	labtest.Need(t)
	if !incapable(t) {
		labtest.PortFlows(t, devmem.Mode, true)
	}
}

// So are requests both ways.
func TestLabBothTrips(t *testing.T) {
	long.Test(t)
	labtest.Need(t)
	if !incapable(t) {
		labtest.BothTrips(t, devmem.Mode, "rr-devmem")
	}
}

// Requests and answers are sent from memory of a device, too, and in the long run by SEND_ZC and
// MSG_ZEROCOPY.
func TestLabLentTrips(t *testing.T) {
	labtest.Need(t)
	if incapable(t) {
		return
	}
	for _, tx := range []string{devmem.Mode, "uring-zc", "msg-zerocopy"}[:long.Rounds(1, 3)] {
		t.Run(tx, func(t *testing.T) { labtest.LentTrips(t, devmem.Mode, tx) })
	}
}

// A connection for each request, by one rule for the port.
func TestLabVisits(t *testing.T) {
	long.Test(t) // zcrx's are in the short run
	labtest.Need(t)
	if !incapable(t) {
		labtest.Visits(t, devmem.Mode)
	}
}

// Both ends receive into memory of a device, and send from it, at once.
func TestLabBoth(t *testing.T) {
	labtest.Need(t)
	if !incapable(t) {
		labtest.Both(t, devmem.Mode, devmem.Mode)
	}
}
