// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/labtest"
)

// TestLabTune looks for the best settings of zcrx and devmem: receive buffers, area, reads,
// batches.
func TestLabTune(t *testing.T) {
	long.Test(t) // what a search does is in the short run without a NIC
	labtest.Tune(t)
}
