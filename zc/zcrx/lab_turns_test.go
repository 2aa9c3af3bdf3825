// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// TestLabTurns lets zcrx and devmem, each flow with its own queue, take turns with tcp: one flow of
// each, as found and with softirq and data path on one CPU, and two, with a CPU each for both.
func TestLabTurns(t *testing.T) {
	long.Test(t) // who has which queue, and when a receiver rests, is in the short run without a NIC
	rx := []string{"tcp", zcrx.Mode, "devmem"}
	for name, x := range map[string]labtest.Turns{"one flow": {RX: rx}, "1cpu": {RX: rx, Layout: "1cpu"},
		"two flows, 2cpu": {RX: rx, Flows: 2, Layout: "2cpu"}} {
		t.Run(name, x.Take)
	}
}
