// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

func TestLabControls(t *testing.T) {
	t.Run("wrong queue", func(t *testing.T) { labtest.OnWrongQueue(t, zcrx.Mode) })
	t.Run("copied by the driver", func(t *testing.T) {
		long.Test(t) // that of devmem is in the short run
		labtest.CopiedByDriver(t, zcrx.Mode, "handed out buffers for at most")
	})
}

func TestLabLayouts(t *testing.T) { labtest.Layouts(t, zcrx.Mode) }

// Where there is no queue of the NIC's, all is copied: of several flows, which are steered, and of
// one.
func TestLabNoDeviceCopies(t *testing.T) {
	t.Run("several flows", func(t *testing.T) { labtest.CopiedFlows(t, zcrx.ModeNoDevice) })
	if long.Wanted() {
		t.Run("one flow", func(t *testing.T) { labtest.Copies(t, zcrx.ModeNoDevice) })
	}
}
