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
