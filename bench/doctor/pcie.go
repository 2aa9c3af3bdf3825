// SPDX-License-Identifier: MIT

package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/bench/wire"
)

// pcieGbps computes what a PCIe link carries of payload, in 1e9 bit/s: the line code is 8b/10b up
// to 5 GT/s, 128b/130b above (PAM4 generations lose less), and headers take a tenth with payloads
// of 256 bytes.
func pcieGbps(gts float64, lanes int) float64 {
	code := 128.0 / 130
	if gts <= 5 {
		code = 0.8
	}
	return gts * float64(lanes) * code * 0.9
}

// parseGTs reads current_link_speed: "16.0 GT/s PCIe" (drivers/pci/pci-sysfs.c).
func parseGTs(s string) (float64, error) {
	n, _, ok := strings.Cut(s, " GT/s")
	v, err := strconv.ParseFloat(n, 64)
	if !ok || err != nil || v <= 0 {
		return 0, fmt.Errorf("link speed %q", s)
	}
	return v, nil
}

// slot is where a NIC is plugged in; empty fields were not told.
type slot struct {
	speed, maxSpeed string // GT/s
	width, maxWidth string // lanes
	mbits           int    // of the Ethernet link; 0: not told
}

// check compares the slot with the line; without status where there is no slot.
func (s slot) check() (c wire.Check) {
	gts, err := parseGTs(s.speed)
	lanes, lerr := strconv.Atoi(s.width)
	if err != nil || lerr != nil || lanes < 1 {
		return c // no PCIe device
	}
	has := pcieGbps(gts, lanes)
	c = wire.Check{Status: "ok", Found: fmt.Sprintf("%s, %d lanes: about %.0f Gbit/s of payload", s.speed, lanes, has)}
	if s.mbits > 0 {
		c.Needed = fmt.Sprintf("the line's %.0f Gbit/s", float64(s.mbits)/1000)
		if has < float64(s.mbits)/1000 {
			c.Status, c.Fix = "warn", "the slot is slower than the line and caps every result: use another slot"
		}
	}
	if s.maxSpeed != "" && s.maxSpeed != s.speed || s.maxWidth != "" && s.maxWidth != s.width {
		c.Status, c.Fix = "warn",
			fmt.Sprintf("the card supports %s with %s lanes: use such a slot, and check the firmware's settings "+
				"for bifurcation", s.maxSpeed, s.maxWidth)
	}
	return c
}
