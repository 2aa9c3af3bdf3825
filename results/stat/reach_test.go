// SPDX-License-Identifier: MIT

package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// disjoint are two samples of n values that do not overlap.
func disjoint(n int) (a, b []float64) {
	for i := range n {
		a, b = append(a, 100+float64(i)/100), append(b, 200+float64(i)/100)
	}
	return a, b
}

// What is foretold of samples that do not overlap is what the test says of them.
func TestLeastP(t *testing.T) {
	for _, n := range []int{2, 6, 7, 8, 10, 20, 40} {
		a, b := disjoint(n)
		if want, got := Diff(a, b).P, leastP(n); math.Abs(got/want-1) > 1e-9 {
			t.Errorf("n = %d: %g, the test says %g", n, got, want)
		}
	}
	if p := NewReach(6, 95).LeastP; math.Abs(p-.2056) > .0001 {
		t.Errorf("96 cells at 6 repetitions: %g", p)
	}
}

// The most comparisons that get verdicts together are just that, and so are the runs.
func TestMaxTests(t *testing.T) {
	for _, n := range []int{6, 7, 8} {
		most := MaxTests(n)
		if !NewReach(n, most).Attainable() || NewReach(n, most+1).Attainable() {
			t.Errorf("n = %d: %d", n, most)
		}
		a, b := disjoint(n)
		var all []*Difference
		for range most {
			all = append(all, new(Diff(a, b)))
		}
		if Family(all); all[most-1].Sign() != Greater {
			t.Errorf("n = %d, %d tests: p %g", n, most, all[0].Adjusted)
		}
		all = append(all, new(Diff(a, b)))
		if Family(all); all[0].Sign() != Unknown {
			t.Errorf("n = %d, %d tests: p %g", n, most+1, all[0].Adjusted)
		}
	}
	if n, ok := RunsFor(95, 0); !ok || n != 8 {
		t.Errorf("95 tests need %d runs, %v", n, ok)
	}
	if _, ok := RunsFor(95, .01); ok {
		t.Error("a hundredth of a standard deviation is found")
	}
	if MaxTests(5) != 0 || NewReach(5, 1).Attainable() {
		t.Error("5 runs can give a verdict")
	}
}

// The share of U is that of all ways to deal the ranks.
func TestCritical(t *testing.T) {
	// Tables of the U test, two-sided.
	for _, c := range []struct {
		n     int
		alpha float64
		want  int
	}{{6, .05, 5}, {8, .05, 13}, {10, .05, 23}, {20, .05, 127}, {10, .01, 16}, {5, .01, 0}, {4, .01, -1}} {
		if got := critical(c.n, c.alpha); got != c.want {
			t.Errorf("n = %d, alpha %g: %d, want %d", c.n, c.alpha, got, c.want)
		}
	}
	if got, want := critical(51, .05), critical(50, .05); got < want || got > want+80 {
		t.Errorf("at 51 values %d, at 50 %d", got, want)
	}
}

// The whole way to a verdict finds what is foretold, as often as foretold.
func TestFindable(t *testing.T) {
	for _, c := range []struct{ runs, tests int }{{6, 1}, {8, 5}, {10, 1}, {10, 23}, {12, 95}} {
		sd, _ := NewReach(c.runs, c.tests).Finds()
		rng := rand.New(rand.NewPCG(7, uint64(c.runs)))
		const cv, rounds = .01, 300
		found := 0
		for range rounds {
			a, b := make([]float64, c.runs), make([]float64, c.runs)
			for i := range a {
				a[i], b[i] = 100*(1+cv*rng.NormFloat64()), 100*(1+cv*(sd+rng.NormFloat64()))
			}
			d := Diff(a, b)
			d.Adjusted = min(1, d.P*float64(c.tests)) // the first of Holm's order
			if d.Sign() == Greater {
				found++
			}
		}
		t.Logf("%d runs, %d tests: %.2f standard deviations are found in %d of %d", c.runs, c.tests, sd, found, rounds)
		if p := float64(found) / rounds; p < Power-.08 || p > Power+.08 { // three standard errors
			t.Errorf("%d runs, %d tests: %.2f standard deviations are found in %.0f %%", c.runs, c.tests, sd, 100*p)
		}
	}
	// What is proposed for 2 % at a CV of 1 % is enough, and one less is not.
	for _, tests := range []int{1, 5, 23, 95} {
		n, ok := RunsFor(tests, 2)
		if finds, _ := NewReach(n, tests).Finds(); !ok || finds > 2 {
			t.Errorf("%d tests: %d runs", tests, n)
		}
		if finds, ok := NewReach(n-1, tests).Finds(); ok && finds <= 2 {
			t.Errorf("%d tests: %d runs would do", tests, n-1)
		}
		t.Logf("%d tests: %d runs", tests, n)
	}
	if near, far := findable(100, .05), findable(101, .05); math.Abs(near/far-1) > .05 {
		t.Errorf("simulated %.3f, approximated %.3f", near, far)
	}
}
