// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"testing"

	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// Needs modules of Debian's kernel: mk/lane.sh has the command.
func TestUpperInLab(t *testing.T) { labtest.Upper(t, zcrx.Mode) }
