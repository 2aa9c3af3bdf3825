// SPDX-License-Identifier: MIT

package devmem_test

import (
	"testing"

	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/labtest"
)

// TestLabRunFlows runs several flows at the same time.
func TestLabRunFlows(t *testing.T) { labtest.RunFlows(t, devmem.Mode, "the kernel copied 100.0 %") }
