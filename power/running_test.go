// SPDX-License-Identifier: MIT

package power

import (
	"math"
	"testing"
)

// A running account over pieces is the mean of the whole, though the pieces are
// forgotten; what is taken twice counts once.
func TestRunning(t *testing.T) {
	whole := meter(100, 100, 200, 200, -1, 150, 100)
	var r Running
	var got []reading
	for _, cut := range [][2]int{{0, 2}, {1, 4}, {4, 4}, {4, 7}} {
		piece := whole
		piece.Samples = whole.Samples[cut[0]:cut[1]]
		got = append(got, r.Take(piece)...)
	}
	want, err := whole.Sum(0, 6*second)
	if err != nil {
		t.Fatal(err)
	}
	mean, most, ok := r.Mean(0)
	if !ok || math.Abs(mean-want.Watts) > 1e-9 || most != 200 || r.Readings != 7 || r.LastNs != 6*second {
		t.Errorf("mean %v of %d readings, most %v; want %v of 7, 200", mean, r.Readings, most, want.Watts)
	}
	if len(got) != 6 || got[2] != (reading{2 * second, 0, 200}) || got[4] != (reading{5 * second, 0, 150}) {
		t.Errorf("taken: %v", got)
	}
	if w, at, ok := r.Newest(0); !ok || w != 100 || at != 6*second {
		t.Errorf("newest %v at %d", w, at)
	}
}

// A silence of a sensor is in no mean; a gap of a counter neither.
func TestRunningSilence(t *testing.T) {
	x := meter(100, 100, 300, 300)
	x.Samples[2].AtNs, x.Samples[3].AtNs = 100*second, 101*second
	var r Running
	r.Take(x)
	if mean, _, ok := r.Mean(0); !ok || mean != 200 { // 1 s at 100, 1 s at 300
		t.Errorf("mean %v", mean)
	}
	e := meter(0, 100, 5000, 5200) // microjoules: 100 W, a gap, 200 W
	e.Info.Channels[0].Kind = energy
	e.Samples[2].Gap = true
	r = Running{}
	got := r.Take(e)
	if mean, most, ok := r.Mean(0); !ok || mean != 150 || most != 200 || len(got) != 2 {
		t.Errorf("mean %v, most %v, %v", mean, most, got)
	}
	still := meter(7000, 7000, 7000)
	still.Info.Channels[0].Kind = energy
	r = Running{}
	r.Take(still)
	if mean, _, ok := r.Mean(0); ok {
		t.Errorf("a counter that stands still has a mean of %v", mean)
	}
	if w, _, ok := r.Newest(0); ok {
		t.Errorf("a counter that stands still reads %v W", w)
	}
	if _, _, ok := (&Running{}).Mean(0); ok {
		t.Error("a mean of nothing")
	}
}
