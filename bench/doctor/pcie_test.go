// SPDX-License-Identifier: MIT

package doctor

import (
	"testing"
)

func TestPCIe(t *testing.T) {
	for _, c := range []struct {
		gts   float64
		lanes int
		want  float64 // raw data rate x 0.9, from the PCIe specification's 31.5 GB/s at 16 GT/s x16
	}{{16, 16, 226.9}, {8, 16, 113.4}, {5, 8, 28.8}, {32, 16, 453.7}} {
		if got := pcieGbps(c.gts, c.lanes); got < c.want-0.1 || got > c.want+0.1 {
			t.Errorf("%v GT/s x%d: %.1f Gbit/s, want %.1f", c.gts, c.lanes, got, c.want)
		}
	}
	if c := (slot{}).check(); c.Status != "" {
		t.Error("a device without a slot has a PCIe rung")
	}
	if _, err := parseGTs("Unknown"); err == nil {
		t.Error("parsed an unknown speed")
	}
}
