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

// A meter resolves what its means differ by: of windows whose difference it says to resolve in six
// runs, the means of six differ by less than that by chance in 95 %.
func TestResolutionHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const rounds = 400
	wrong := 0
	for range rounds {
		r := resolved(t, rng, 5, 0)
		hides := 1.96 * math.Sqrt2 * r.U / math.Sqrt(verdictRuns)
		var apart float64
		for range verdictRuns {
			apart += (resolved(t, rng, 5, 0).MeanW - resolved(t, rng, 5, 0).MeanW) / verdictRuns
		}
		if math.Abs(apart) > hides {
			wrong++
		}
	}
	if wrong > rounds/10 { // 5 %, and the uncertainty is itself estimated
		t.Errorf("%d of %d differences of equal loads were above what is said to be resolved", wrong, rounds)
	}
}

func TestRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	fine := resolved(t, rng, .1, 0)
	if n := fine.Runs(20); n != verdictRuns {
		t.Errorf("a fine meter takes %d runs", n)
	}
	if d, ok := fine.WindowFor(20); !ok || d != fine.Window {
		t.Errorf("a fine meter takes windows of %v", d)
	}
	noisy := resolved(t, rng, 200, 0)
	if n := noisy.Runs(5); n <= verdictRuns {
		t.Errorf("a noisy meter takes %d runs", n)
	}
	if d, ok := noisy.WindowFor(5); !ok || d <= noisy.Window {
		t.Errorf("a noisy meter takes windows of %v", d)
	}
	coarse := resolved(t, rng, 0, 50)
	if _, ok := coarse.WindowFor(5); ok || coarse.Runs(5) <= verdictRuns {
		t.Errorf("a meter with steps of 50 W takes %d runs", coarse.Runs(5))
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
