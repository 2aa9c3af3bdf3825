// SPDX-License-Identifier: MIT

package devmem_test

import (
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/labtest"
)

func TestLabControls(t *testing.T) { labtest.Controls(t, devmem.Mode, "the kernel copied") }

func TestLabLayouts(t *testing.T) {
	long.Test(t) // that of zcrx is in the short run
	labtest.Layouts(t, "devmem")
}
