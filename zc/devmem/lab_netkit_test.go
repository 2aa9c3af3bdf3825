// SPDX-License-Identifier: MIT

package devmem_test

import (
	"testing"

	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/labtest"
)

// The receiver in a container: see docs/containers.md.
func TestLabContainer(t *testing.T) { labtest.Container(t, devmem.Mode) }
