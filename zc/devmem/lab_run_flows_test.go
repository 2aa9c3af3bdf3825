// SPDX-License-Identifier: MIT

package devmem_test

import (
	"testing"

	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/labtest"
)

// TestLabRunFlowsOfTokens runs several flows at the same time.
func TestLabRunFlowsOfTokens(t *testing.T) { labtest.RunFlows(t, devmem.Mode, "one queue") }
