// SPDX-License-Identifier: MIT

package devmem_test

import (
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/labtest"
)

func TestLabPacedSend(t *testing.T) {
	long.Test(t) // what paces is msg-zerocopy's, and that is in the short run
	labtest.PacedSend(t, devmem.Mode, devmem.Mode)
}
