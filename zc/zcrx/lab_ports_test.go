// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"testing"

	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// Two ports of a host are one run, with queues of each.
func TestTwoPortsInLab(t *testing.T) { labtest.TwoPorts(t, zcrx.Mode) }
