// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"os"
	"testing"

	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// Needs modules of Debian's kernel: mk/lane.sh has the commands.
func TestUpperInLab(t *testing.T) {
	if os.Getenv(guest.NICEnv) != "" {
		labtest.UpperReal(t)
		return
	}
	labtest.Upper(t, zcrx.Mode)
}
