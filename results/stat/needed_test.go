// SPDX-License-Identifier: MIT

package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// What hits both cells of a block alike is not in their scatter; of cells without blocks it is.
func TestScatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	const n, sd = 400, .01
	var a, b, other []Run
	for rep := range n {
		drift := .2 * math.Sin(float64(rep)/30)
		a = append(a, Run{Value: 50 * math.Exp(drift+sd*rng.NormFloat64()), Boot: "1", Session: "s", Rep: rep})
		b = append(b, Run{Value: 60 * math.Exp(drift+sd*rng.NormFloat64()), Boot: "1", Session: "s", Rep: rep})
		other = append(other, Run{Value: 60 * math.Exp(drift+sd*rng.NormFloat64()), Boot: "2", Session: "t", Rep: rep})
	}
	if got, ok := Scatter(a, b); !ok || math.Abs(got/sd-1) > .15 {
		t.Errorf("in blocks %g, %v, want %g", got, ok, sd)
	}
	if got, ok := Scatter(a, other); !ok || got < .1 {
		t.Errorf("without blocks %g, %v: the drift is not in it", got, ok)
	}
	if _, ok := Scatter(a[:2], b[:2]); ok {
		t.Error("two runs of each tell how they vary")
	}
	if _, ok := Scatter(a, []Run{{}, {}, {}}); ok {
		t.Error("a figure of 0 has no logarithm")
	}
}

// The quick answer is near the one by simulation, and never below what any verdict takes.
func TestRunsAbout(t *testing.T) {
	for _, tests := range []int{1, 5, 23} {
		for _, sd := range []float64{1, 2, 4} {
			quick, ok := RunsAbout(tests, sd)
			want, _ := RunsFor(tests, sd)
			least, _ := RunsFor(tests, 0)
			if !ok || quick < least || math.Abs(float64(quick-want)) > max(2, .3*float64(want)) {
				t.Errorf("%d tests, %g: %d runs, by simulation %d, at least %d", tests, sd, quick, want, least)
			}
		}
	}
	if n, ok := RunsAbout(1, .01); ok {
		t.Errorf("%d runs find a hundredth of their scatter", n)
	}
	if n, ok := RunsAbout(3, math.Inf(1)); !ok || n != 6 {
		t.Errorf("runs that do not vary: %d, %v", n, ok)
	}
}
