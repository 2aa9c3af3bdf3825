// SPDX-License-Identifier: MIT

package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestEquivalence(t *testing.T) {
	a := []float64{100, 101, 99, 100.5, 99.5, 100.2}
	for _, c := range []struct {
		name   string
		b      []float64
		margin float64
		want   float64 // p
		ok     bool
	}{
		{"itself", a, .05, 1.0 / 924, true}, // no overlap with either margin: one way in C(12, 6)
		{"itself, by a margin inside the spread", a, .001, .35, true},
		{"above the margin", scaled(a, 1.1), .05, 1, true},
		{"below the margin", scaled(a, .9), .05, 1, true},
		{"too few", a[:5], .05, 1, false},
		{"nothing", []float64{0, 1, 1, 1, 1, 1}, .05, 1, false},
		{"no margin", a, 0, 1, false},
	} {
		p, ok := equivalence(a, c.b, c.margin)
		if ok != c.ok || math.Abs(p-c.want) > .1*c.want {
			t.Errorf("%s: p %.4f, %v; want %.4f", c.name, p, ok, c.want)
		}
	}
}

// Samples that are just the margin apart are called equal in at most 5 of 100 cases, equal
// ones with a CV of 1 % by a margin of 2 % in at least 80 of 100 with 12 runs of each.
func TestEquivalenceHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1987, 1))
	called := func(ratio float64) (n int) {
		for range 400 {
			a, b := make([]float64, 12), make([]float64, 12)
			for i := range a {
				a[i], b[i] = 100*(1+.01*rng.NormFloat64()), ratio*100*(1+.01*rng.NormFloat64())
			}
			if p, _ := equivalence(a, b, .02); p < Alpha {
				n++
			}
		}
		return n
	}
	for _, ratio := range []float64{.98, 1.02} {
		if n := called(ratio); n > 400*7/100 { // 5 %, and two standard errors
			t.Errorf("a ratio of %v is called equal %d times of 400", ratio, n)
		}
	}
	if n := called(1); n < 400*80/100 {
		t.Errorf("equal samples are called equal %d times of 400", n)
	}
}

// The same holds of a difference.
func TestDifferenceOfNoNumbers(t *testing.T) {
	good := []float64{1, 2, 3, 4, 5, 6}
	if p, _ := rankSum(good, append([]float64{math.NaN()}, good...)); p != 1 {
		t.Errorf("p %v", p)
	}
}

// What is no number, as the return of a negative throughput, is not tested: the test would not end.
func TestEquivalenceOfNoNumbers(t *testing.T) {
	good := []float64{1, 2, 3, 4, 5, 6}
	for _, v := range []float64{math.NaN(), math.Inf(1), -1, 0} {
		if p, ok := equivalence(good, append([]float64{v}, good...), .02); ok || p != 1 {
			t.Errorf("%v: %v, %v", v, p, ok)
		}
	}
}
