// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"testing"

	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// TestLabRunFlows runs several flows at the same time.
func TestLabRunFlows(t *testing.T) { labtest.RunFlows(t, zcrx.Mode, "a queue each", "one astray") }
