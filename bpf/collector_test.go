package bpf

import "testing"

// A value on an edge belongs to the bucket above it, and le is inclusive.
func TestCumulative(t *testing.T) {
	m := cumulative(histOf(1023, 1024, 2047, 2048, 1<<40))
	for le, want := range map[float64]uint64{1023e-9: 1, 2047e-9: 3, 4095e-9: 4} {
		if got, ok := m[le]; !ok || got != want {
			t.Errorf("le %g: %d values, want %d", le, got, want)
		}
	}
	if got := m[float64(1<<33-1)/1e9]; got != 4 {
		t.Errorf("a value beyond the last edge is in a bucket with an edge: %d", got)
	}
}
