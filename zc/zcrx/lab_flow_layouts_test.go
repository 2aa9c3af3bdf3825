// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"testing"

	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// Needs a guest of six CPUs: mk/lane.sh has the command.
func TestFlowLayoutsInLab(t *testing.T) { labtest.FlowLayouts(t, zcrx.Mode) }
