// SPDX-License-Identifier: MIT

package lab

import (
	"math"
	"testing"
)

// Two measurements of the rate agree, whatever else the machine does.
func TestTSCRate(t *testing.T) {
	rate := func() float64 {
		t0, c0 := tscNow()
		for {
			if t1, c1 := tscNow(); t1.Sub(t0) > tscSpan {
				return float64(c1-c0) / t1.Sub(t0).Seconds() / 1000
			}
		}
	}
	kHz := rate()
	if kHz == 0 {
		t.Skip("no time-stamp counter that we can read")
	}
	if got := float64(hostTSC()); math.Abs(got-kHz) > kHz/1000 {
		t.Errorf("%.0f and %.0f kHz", got, kHz)
	}
}
