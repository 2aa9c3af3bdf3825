// SPDX-License-Identifier: MIT

package power

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// resolved reads 20 s of a meter with this scatter and step, four readings a second.
func resolved(t *testing.T, rng *rand.Rand, scatter, step float64) Resolution {
	t.Helper()
	tr := Trace{Info: info{Name: "x", Channels: []channel{{Kind: power, Resolution: step}}},
		Interval: 250 * time.Millisecond}
	for i := range 81 {
		w := 200 + scatter*rng.NormFloat64()
		if step > 0 {
			w = math.Round(w/step) * step
		}
		tr.Samples = append(tr.Samples, sample{AtNs: int64(i) * 250e6, V: []int64{int64(w * 1e6)}})
	}
	r, err := Resolve(tr, Window{FromNs: 1, ToNs: 20e9})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The means of equal loads are as far apart as is said.
func TestResolutionHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const rounds = 400
	wrong := 0
	for range rounds {
		a, b := resolved(t, rng, 5, 0), resolved(t, rng, 5, 0)
		if math.Abs(a.MeanW-b.MeanW) > 1.96*math.Hypot(a.U, b.U) {
			wrong++
		}
	}
	if wrong < rounds/100 || wrong > rounds/10 { // 5 %, and the uncertainty is itself estimated
		t.Errorf("%d of %d differences of equal loads were above what is said to be resolved", wrong, rounds)
	}
}

// Longer windows help where readings scatter, and not where they come in steps.
func TestLonger(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	noisy := resolved(t, rng, 5, 0)
	if u := noisy.Longer(4); math.Abs(u-noisy.U/2) > 1e-9 {
		t.Errorf("%g W of a window, %g of four", noisy.U, u)
	}
	coarse := resolved(t, rng, 0, 50)
	if u := coarse.Longer(100); math.Abs(u-50/math.Sqrt(12)) > 1e-9 || math.Abs(coarse.U-u) > 1e-9 {
		t.Errorf("%g W of a window in steps of 50 W, %g of a hundred", coarse.U, u)
	}
}

// Readings that are all equal show nothing.
func TestResolveStuck(t *testing.T) {
	tr := Trace{Info: info{Name: "x", Channels: []channel{{Kind: power}}}, Interval: time.Second}
	for i := range 21 {
		tr.Samples = append(tr.Samples, sample{AtNs: int64(i) * 1e9, V: []int64{200e6}})
	}
	if r, err := Resolve(tr, Window{FromNs: 1, ToNs: 20e9}); err == nil {
		t.Errorf("%+v", r)
	}
}
