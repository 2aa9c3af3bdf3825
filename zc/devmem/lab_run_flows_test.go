// SPDX-License-Identifier: MIT

package devmem_test

import (
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/labtest"
)

// TestLabRunFlowsOfTokens runs several flows at the same time.
func TestLabRunFlowsOfTokens(t *testing.T) {
	long.Test(t) // those of zcrx, and TestLabFlows and TestLabGroup, are in the short run
	labtest.RunFlows(t, devmem.Mode)
}
