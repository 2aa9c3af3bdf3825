// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"testing"

	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// TestLabRunFlows runs several flows at the same time. Where one goes astray the others come by
// their queues, as they should.
func TestLabRunFlows(t *testing.T) { labtest.RunFlows(t, zcrx.Mode, "one astray") }
