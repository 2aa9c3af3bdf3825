// SPDX-License-Identifier: MIT

package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// disjoint are two cells of n runs in the same blocks, whose values do not overlap.
func disjoint(n int) (a, b []Run) {
	for i := range n {
		a = append(a, Run{Value: 100 + float64(i)/100, Boot: "b", Rep: i})
		b = append(b, Run{Value: 200 + float64(i)/100, Boot: "b", Rep: i})
	}
	return a, b
}

// What is foretold of samples that do not overlap is what the test says of them.
func TestLeastP(t *testing.T) {
	for _, n := range []int{2, 6, 7, 8, 10, 20, 40} {
		a, b := disjoint(n)
		d := Contrast(a, b, Between{})
		if want, got := d.P, leastBlocked(n); math.Abs(got/want-1) > 1e-9 || math.Abs(d.Least/want-1) > 1e-9 {
			t.Errorf("n = %d: %g and %g, the test says %g", n, got, d.Least, want)
		}
		d = Diff(valuesOf(a), valuesOf(b))
		if math.Abs(d.Least/d.P-1) > 1e-9 {
			t.Errorf("n = %d: %g, the U test says %g", n, d.Least, d.P)
		}
	}
	if p := NewReach(6, 95).LeastP; math.Abs(p-95*2/216.) > .0001 {
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
			all = append(all, new(Contrast(a, b, Between{})))
		}
		if Family(all); all[most-1].Sign() != Greater {
			t.Errorf("n = %d, %d tests: p %g", n, most, all[0].Adjusted)
		}
		all = append(all, new(Contrast(a, b, Between{})))
		if Family(all); all[0].Sign() != Unknown {
			t.Errorf("n = %d, %d tests: p %g", n, most+1, all[0].Adjusted)
		}
	}
	if n, ok := RunsFor(95, 0); !ok || n != 10 {
		t.Errorf("95 tests need %d runs, %v", n, ok)
	}
	if _, ok := RunsFor(95, .01); ok {
		t.Error("a hundredth of a standard deviation is found")
	}
	if MaxTests(5) != 0 || NewReach(5, 1).Attainable() {
		t.Error("5 runs can give a verdict")
	}
}

// The whole way to a verdict finds what is foretold, as often as foretold: of other draws
// than those of which it is foretold. What is proposed for 2 % at a CV of 1 % is enough.
func TestFindable(t *testing.T) {
	for _, tests := range []int{1, 5, 95} {
		n, ok := RunsFor(tests, 2)
		sd, _ := NewReach(n, tests).Finds()
		found := foundOf(n, tests, 2, 400)
		t.Logf("%d tests: %d runs find %.2f standard deviations; 2 in %.0f %%", tests, n, sd, 100*found)
		if !ok || sd > 2.01 || found < Power-.06 { // three standard errors
			t.Errorf("%d tests: %d runs, %.2f, %.2f", tests, n, sd, found)
		}
		if found := foundOf(n, tests, sd, 400); math.Abs(found-Power) > .07 {
			t.Errorf("%d tests: %.2f standard deviations are found in %.0f %%", tests, sd, 100*found)
		}
		if NewReach(n-2, tests).finds(2) {
			t.Errorf("%d tests: %d runs would do", tests, n-2)
		}
	}
	near, _ := NewReach(simulatedRuns, 5).Finds()
	if far := farFindable(simulatedRuns, Alpha/5); math.Abs(near/far-1) > .1 {
		t.Errorf("simulated %.3f, approximated %.3f", near, far)
	}
}

// foundOf is how often the first of so many tests finds a difference of sd standard
// deviations.
func foundOf(n, tests int, sd float64, rounds int) float64 {
	rng := rand.New(rand.NewPCG(7, uint64(n*tests)))
	const cv = .01
	found := 0
	for range rounds {
		a, b := make([]Run, n), make([]Run, n)
		for i := range n {
			a[i] = Run{Value: 100 * (1 + cv*rng.NormFloat64()), Boot: "b", Rep: i}
			b[i] = Run{Value: 100 * (1 + cv*(sd+rng.NormFloat64())), Boot: "b", Rep: i}
		}
		d := Contrast(a, b, Between{})
		d.Adjusted = min(1, d.P*float64(tests)) // the first of Holm's order
		if d.Sign() == Greater {
			found++
		}
	}
	return float64(found) / float64(rounds)
}
