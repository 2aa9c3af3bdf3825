// SPDX-License-Identifier: MIT

package devmem_test

import (
	"testing"

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

// Both ends receive into memory of a device, and send from it, at once.
func TestLabBoth(t *testing.T) {
	labtest.Need(t)
	if !incapable(t) {
		labtest.Both(t, devmem.Mode, devmem.Mode)
	}
}
