// SPDX-License-Identifier: MIT

package results

import (
	"math"
	"testing"
)

func TestROI(t *testing.T) {
	for _, tt := range []struct{ t, n, c, m, want float64 }{
		{100, 2, 1, 1, 10000},       // 100^2 / 1
		{190, 2, 2, 1, 18050},       // 36100 / 2
		{120, 2, 460, 1, 720. / 23}, // 14400 W^-1 / 460
		{16, 1, 4, 0.5, 8},          // 16 / 2
		{0, 2, 1, 1, 0},
	} {
		if got := roi(tt.t, tt.n, tt.c, tt.m); math.Abs(got-tt.want) > 1e-9*tt.want {
			t.Errorf("ROI(%v, %v, %v, %v) = %v, want %v", tt.t, tt.n, tt.c, tt.m, got, tt.want)
		}
	}
	for _, cost := range []float64{0, -1, math.NaN()} {
		if got := roi(10, 2, cost, 1); !math.IsNaN(got) {
			t.Errorf("ROI at cost %v = %v, want NaN", cost, got)
		}
	}
}

func TestDerived(t *testing.T) {
	h := Host{DurationS: ptr(2.0), Bytes: ptr(uint64(5e9)), ThroughputGbps: ptr(20.0), CPUBusyCores: ptr(1.5),
		PowerW: ptr(250.0)}
	for _, tt := range []struct {
		name string
		got  *float64
		want float64
	}{
		{"NsPerKB", h.NsPerKB(), 600},       // 1.5 x 2e9 ns / 5e6 kB
		{"JoulePerGB", h.JoulePerGB(), 100}, // 500 J / 5 GB
		{"ROICPU", h.ROICPU(), 400 / 1.5},
		{"ROIPower", h.ROIPower(), 1.6},
	} {
		if tt.got == nil || *tt.got != tt.want {
			t.Errorf("%s = %v, want %v", tt.name, tt.got, tt.want)
		}
	}
	byRate := Host{ThroughputGbps: ptr(20.0), CPUBusyCores: ptr(1.5)}
	if got := byRate.NsPerKB(); got == nil || *got != 600 {
		t.Errorf("NsPerKB from the throughput = %v, want 600", got)
	}
	// Not measured, or divided by zero, is nil and never 0.
	for _, h := range []Host{{}, {DurationS: ptr(1.0), Bytes: ptr(uint64(0)), ThroughputGbps: ptr(0.0),
		CPUBusyCores: ptr(0.0), PowerW: ptr(0.0)}} {
		if a, b, c, d := h.NsPerKB(), h.JoulePerGB(), h.ROICPU(), h.ROIPower(); a != nil || b != nil || c != nil ||
			d != nil {
			t.Errorf("%+v: %v %v %v %v", h, a, b, c, d)
		}
	}
}
