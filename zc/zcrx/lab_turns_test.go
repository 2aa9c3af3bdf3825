// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// TestLabTurns lets zcrx and devmem, each with its own queue, take turns with tcp.
func TestLabTurns(t *testing.T) {
	long.Test(t) // who has which queue, and when a receiver rests, is in the short run without a NIC
	labtest.TakeTurns(t, "tcp", zcrx.Mode, "devmem")
}
