// SPDX-License-Identifier: MIT

package devmem_test

import (
	"testing"

	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/labtest"
)

// Two ports of a host are one run, with queues of each.
func TestTwoPortsInLab(t *testing.T) { labtest.TwoPorts(t, devmem.Mode) }
