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
		labtest.BothTrips(t, devmem.Mode)
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
