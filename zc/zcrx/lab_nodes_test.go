// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"testing"

	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// Needs a guest of two NUMA nodes: mk/lane.sh has the command. The devmem modes are here because
// one such machine is enough.
func TestNodesInLab(t *testing.T) {
	labtest.Nodes(t, []string{zcrx.Mode}, []string{zcrx.Mode, "--area", "udmabuf"},
		[]string{"devmem", "--tx", "devmem"})
}
