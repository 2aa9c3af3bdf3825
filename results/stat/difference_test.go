// SPDX-License-Identifier: MIT

package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
)

const _ = kind.Pure

// U = 0 of 6 x 6 has 2 of the C(12, 6) = 924 orders.
func TestDiffExact(t *testing.T) {
	a := []float64{1, 2, 3, 4, 5, 6}
	d := Diff(a, []float64{7, 8, 9, 10, 11, 12})
	if !near(d.P, 2/924.) || d.NA != 6 || d.NB != 6 || len(d.Warnings) != 0 {
		t.Errorf("%+v", d)
	}
	if !near(d.Ratio.Value, 9.5/3.5) || d.Sign() != Greater {
		t.Errorf("ratio %+v, sign %v", d.Ratio, d.Sign())
	}
	if d := Diff([]float64{7, 8, 9, 10, 11, 12}, a); d.Sign() != Less {
		t.Errorf("the other way round: %v", d.Sign())
	}
	if d := Diff(a, a); d.P != 1 || d.Sign() != Unknown || d.Ratio.Value != 1 {
		t.Errorf("a sample with itself: %+v", d)
	}
	same := []float64{3, 3, 3, 3, 3, 3}
	if d := Diff(same, same); d.P != 1 || d.Sign() != Unknown {
		t.Errorf("constants: %+v", d)
	}
}

func TestDiffFewRuns(t *testing.T) {
	for n := range MinRuns {
		a, b := make([]float64, n), make([]float64, n)
		for i := range n {
			a[i], b[i] = float64(i+1), float64(i+100)
		}
		d := Diff(a, b)
		if d.Sign() != Unknown || len(d.Warnings) == 0 || d.Ratio != nil && d.Ratio.Lo != nil {
			t.Errorf("n = %d: %+v", n, d)
		}
	}
}

func TestMedianRatio(t *testing.T) {
	a := []float64{10, 10, 10, 10, 10, 10}
	b := []float64{12, 12, 12, 12, 12, 12}
	if r := medianRatio(a, b); r.Value != 1.2 || *r.Lo != 1.2 || *r.Hi != 1.2 {
		t.Errorf("%+v", r)
	}
	x := []float64{9, 10, 11, 10, 9.5, 10.5, 10.2}
	y := []float64{12, 13, 11, 12.5, 11.5, 12.2, 12.1}
	r, again := medianRatio(x, y), medianRatio(x, y)
	if *r.Lo != *again.Lo || *r.Hi != *again.Hi {
		t.Error("equal data, different intervals")
	}
	if !near(r.Value, 12.1/10) || !(*r.Lo < r.Value && r.Value < *r.Hi) {
		t.Errorf("%v in %v..%v", r.Value, *r.Lo, *r.Hi)
	}
	// No resample leaves the range of the extremes.
	if *r.Lo < 11/11. || *r.Hi > 13/9. {
		t.Errorf("%v..%v", *r.Lo, *r.Hi)
	}
	if medianRatio(nil, x) != nil || medianRatio([]float64{0, 0}, x) != nil {
		t.Error("a ratio to nothing")
	}
}

func TestMedian(t *testing.T) {
	v := []float64{5, 1, 3, 2}
	if m := Median(v); m != 2.5 || v[0] != 5 {
		t.Errorf("median %v of %v", m, v)
	}
	if m := Median(nil); !math.IsNaN(m) {
		t.Errorf("median %v of nothing", m)
	}
}

func TestQuantile(t *testing.T) {
	s := []float64{4, 1, 5, 3, 2}
	for p, want := range map[float64]float64{0: 1, .5: 3, .25: 2, .1: 1.4, 1: 5} {
		if got := quantile(s, p); !near(got, want) {
			t.Errorf("quantile %v = %v, want %v", p, got, want)
		}
	}
}

func TestBring(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		s := make([]float64, 1+rng.IntN(40))
		for i := range s {
			s[i] = float64(rng.IntN(12)) // with ties
		}
		sorted, k := slices.Sorted(slices.Values(s)), rng.IntN(len(s))
		bring(s, k)
		if s[k] != sorted[k] || slices.Max(s[:k+1]) != s[k] || slices.Min(s[k:]) != s[k] ||
			!slices.Equal(slices.Sorted(slices.Values(s)), sorted) {
			t.Fatalf("k = %d: %v of %v", k, s, sorted)
		}
	}
}

func TestHolm(t *testing.T) {
	// Holm's own step-down: 0.005 x 4, 0.01 x 3, then max(0.03, 0.03 x 2), max(., 0.04).
	got := Holm([]float64{.01, .04, .03, .005})
	for i, want := range []float64{.03, .06, .06, .02} {
		if !near(got[i], want) {
			t.Errorf("p %d: %v, want %v", i, got[i], want)
		}
	}
	if got := Holm([]float64{.6, .7}); got[0] != 1 || got[1] != 1 {
		t.Errorf("more than 1: %v", got)
	}
	if len(Holm(nil)) != 0 {
		t.Error("of nothing")
	}
}

func TestFamily(t *testing.T) {
	a := []float64{1, 2, 3, 4, 5, 6}
	far, few := Diff(a, []float64{7, 8, 9, 10, 11, 12}), Diff(a[:3], a[3:])
	same := Diff(a, a)
	Family([]*Difference{&far, &few, &same})
	if !near(far.Adjusted, 2*2/924.) || few.Adjusted != few.P || same.Adjusted != 1 {
		t.Errorf("%v %v %v", far.Adjusted, few.Adjusted, same.Adjusted)
	}
}

func TestSpearman(t *testing.T) {
	// 4 values that only grow: 2 of 24 orders are as extreme.
	if d := Spearman([]float64{1, 5, 6, 9}); d.Rho != 1 || !near(d.P, 2/24.) {
		t.Errorf("%+v", d)
	}
	// d = 1, -1, 1, -1, 0: rho = 1 - 6 x 4 / (5 x 24) = 0.8; 16 of 120 orders: P = 0.1333 (table).
	if d := Spearman([]float64{2, 1, 4, 3, 5}); !near(d.Rho, .8) || !near(d.P, 16/120.) {
		t.Errorf("%+v", d)
	}
	// Ties: ranks 1.5 1.5 3 4 against 1 2 3 4: sxy 4.5, sxx 5, syy 4.5.
	if d := Spearman([]float64{7, 7, 8, 9}); !near(d.Rho, 4.5/math.Sqrt(5*4.5)) {
		t.Errorf("%+v", d)
	}
	// n = 10, ten steps of 1 out of place: rho = 1 - 6 x 10 / 990.
	d := Spearman([]float64{2, 1, 4, 3, 6, 5, 8, 7, 10, 9})
	if rho := 1 - 6*10/990.; !near(d.Rho, rho) || d.P > 1e-4 {
		t.Errorf("%+v", d)
	}
	if d := Spearman([]float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}); d.Rho != -1 || d.P != 0 {
		t.Errorf("%+v", d)
	}
	if Spearman([]float64{1, 2, 3}) != nil || Spearman([]float64{4, 4, 4, 4, 4}) != nil {
		t.Error("a drift of too few, or of constants")
	}
}
