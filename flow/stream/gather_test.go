// SPDX-License-Identifier: MIT

package stream

import (
	"slices"
	"testing"
	"time"
)

// Only who is asked to gathers, and says how often.
func TestGathering(t *testing.T) {
	for _, d := range []time.Duration{0, 50 * time.Microsecond} {
		g, m, naps := NewGathering(Options{Gather: d}), new(Meter), 0
		g.Nap = func() { naps++ }
		for range 3 {
			g.Let(m)
		}
		want := map[bool]int{true: 3}[d > 0]
		if c := m.Snapshot(); naps != want || int(c.Waits) != want || int(c.Calls) != want {
			t.Errorf("%v: %d naps, %+v", d, naps, c)
		}
		if got := g.Figures(); !slices.Equal(got, []Figure{{"gather_us", "us", float64(d.Microseconds())},
			{"gather_waits", "1", float64(want)}}) {
			t.Errorf("%v: %+v", d, got)
		}
	}
}
