// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// TestLabTurns lets zcrx and devmem, each with its own queue, take turns with tcp; then with two
// flows of each, and with softirq and data path on CPUs as a layout says.
func TestLabTurns(t *testing.T) {
	long.Test(t) // who has which queue, and when a receiver rests, is in the short run without a NIC
	rx := []string{"tcp", zcrx.Mode, "devmem"}
	for name, x := range map[string]labtest.Turns{"one flow": {RX: rx}, "two flows": {RX: rx, Flows: 2},
		"1cpu": {RX: rx, Layout: "1cpu"}, "2cpu": {RX: rx, Layout: "2cpu"},
		"two flows, 2cpu": {RX: rx, Flows: 2, Layout: "2cpu"}} {
		t.Run(name, x.Take)
	}
}
