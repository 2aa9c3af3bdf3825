// SPDX-License-Identifier: MIT

package devmem_test

import (
	"testing"

	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/labtest"
)

func TestLabControls(t *testing.T) { labtest.Controls(t, devmem.Mode, "the kernel copied") }

func TestLabLayouts(t *testing.T) { labtest.Layouts(t, "devmem") }
