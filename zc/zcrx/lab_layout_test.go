// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"testing"

	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

func TestLabControls(t *testing.T) {
	labtest.Controls(t, zcrx.Mode, "handed out buffers for at most")
}

func TestLabLayouts(t *testing.T) { labtest.Layouts(t, zcrx.Mode) }

func TestLabNoDeviceCopies(t *testing.T) { labtest.Copies(t, zcrx.ModeNoDevice) }
