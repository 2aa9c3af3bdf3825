// SPDX-License-Identifier: MIT

package devmem_test

import (
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/labtest"
)

func TestLabControls(t *testing.T) {
	t.Run("wrong queue", func(t *testing.T) {
		long.Test(t) // that of zcrx is in the short run
		labtest.OnWrongQueue(t, devmem.Mode)
	})
	t.Run("copied by the driver", func(t *testing.T) { labtest.CopiedByDriver(t, devmem.Mode, "the kernel copied") })
}

func TestLabLayouts(t *testing.T) {
	long.Test(t) // that of zcrx is in the short run
	labtest.Layouts(t, "devmem")
}
