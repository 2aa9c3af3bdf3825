// SPDX-License-Identifier: MIT

package stat

import (
	"github.com/zcbench/zcbench/internal/long"
	"math"
	"math/rand/v2"
	"testing"
)

// What hits both cells of a block alike is not in their scatter; of cells without blocks it is.
func TestSpread(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	const n, sd = 400, .01
	var a, b, other []Run
	for rep := range n {
		drift := .2 * math.Sin(float64(rep)/30)
		a = append(a, Run{Value: 50 * math.Exp(drift+sd*rng.NormFloat64()), Boot: "1", Session: "s", Rep: rep})
		b = append(b, Run{Value: 60 * math.Exp(drift+sd*rng.NormFloat64()), Boot: "1", Session: "s", Rep: rep})
		other = append(other, Run{Value: 60 * math.Exp(drift+sd*rng.NormFloat64()), Boot: "2", Session: "t", Rep: rep})
	}
	if got := SpreadOf(a, b); got == nil || math.Abs(got.SD/sd-1) > .15 {
		t.Errorf("in blocks %v, want %g", got, sd)
	}
	if got := SpreadOf(a, other); got == nil || got.SD < .1 {
		t.Errorf("without blocks %v: the drift is not in it", got)
	}
	if SpreadOf(a[:2], b[:2]) != nil {
		t.Error("two runs of each tell how they vary")
	}
	if SpreadOf(a, []Run{{}, {}, {}}) != nil {
		t.Error("a figure of 0 has no logarithm")
	}
}

// The quick answer is near the one by simulation, and never below what any verdict takes.
func TestRunsAbout(t *testing.T) {
	for _, tests := range []int{1, 5, 23} {
		for _, sd := range []float64{1, 2, 4} {
			quick, ok := runsAbout(tests, sd)
			want, _ := RunsFor(tests, sd)
			least, _ := RunsFor(tests, 0)
			if !ok || quick < least || math.Abs(float64(quick-want)) > max(2, .3*float64(want)) {
				t.Errorf("%d tests, %g: %d runs, by simulation %d, at least %d", tests, sd, quick, want, least)
			}
		}
	}
	if n, ok := runsAbout(1, .01); ok {
		t.Errorf("%d runs find a hundredth of their scatter", n)
	}
	if n, ok := runsAbout(3, math.Inf(1)); !ok || n != 6 {
		t.Errorf("runs that do not vary: %d, %v", n, ok)
	}
}

// The upper limit of the spread holds in 80 %, by few runs as well.
func TestSpreadMost(t *testing.T) {
	for of, want := range map[int]float64{2: 2.117, 5: 1.461, 7: 1.353, 14: 1.216, 40: 1.112} { // of tables
		if got := (Spread{SD: 1, Of: of}).Most(); math.Abs(got/want-1) > .01 {
			t.Errorf("%d degrees of freedom: %.3f, want %.3f", of, got, want)
		}
	}
}

// A plan made by a pilot of 8 runs finds the difference that it is for in at least 80 %, whatever
// the pilot seems to show.
func TestRunsToFind(t *testing.T) {
	rounds := long.Rounds(300, 4000)
	const pilot, effect = 8, .05
	for _, tests := range []int{1, 5} {
		for _, cv := range []float64{.02, .03, .04, .06} {
			rng := rand.New(rand.NewPCG(52, uint64(1000*cv)+uint64(tests)))
			draw := func(n int) (a, b []Run) {
				block := 0. // drift, which both cells have
				for i := range n {
					if i%2 == 0 {
						block = .02 * rng.NormFloat64()
					}
					a = append(a, Run{Value: math.Exp(block + cv*rng.NormFloat64()), Boot: "b", Rep: i})
					b = append(b, Run{Value: (1 + effect) * math.Exp(block+cv*rng.NormFloat64()), Boot: "b", Rep: i})
				}
				return a, b
			}
			found, runs := 0, 0
			for range rounds {
				n, ok := RunsToFind(tests, effect, *SpreadOf(draw(pilot)))
				if !ok {
					t.Errorf("not even %d runs", n)
				}
				a, b := draw(n)
				d := Contrast(a, b, Between{})
				runs += n
				if d.Adjusted = min(1, d.P*float64(tests)); d.Sign() == Greater {
					found++
				}
			}
			share := float64(found) / float64(rounds)
			t.Logf("%d tests, CV %g %%: %.0f runs, %.1f %% find it", tests, 100*cv, float64(runs)/float64(rounds),
				100*share)
			if share < Power-2*math.Sqrt(Power*(1-Power)/float64(rounds)) {
				t.Errorf("%d tests, CV %g %%: %.1f %%", tests, 100*cv, 100*share)
			}
		}
	}
}

// By the difference that is seen, of pilots that did not tell, plans find the true one far less
// often than they promise: what is seen of two near cells is mostly chance.
func TestSeenDifferenceMisleads(t *testing.T) {
	rounds := long.Rounds(400, 4000)
	const pilot, cv, effect = 8, .04, .02
	rng := rand.New(rand.NewPCG(52, 2))
	draw := func(n int, by float64) (a, b []Run) {
		for i := range n {
			a = append(a, Run{Value: math.Exp(cv * rng.NormFloat64()), Boot: "b", Rep: i})
			b = append(b, Run{Value: (1 + by) * math.Exp(cv*rng.NormFloat64()), Boot: "b", Rep: i})
		}
		return a, b
	}
	open, found := 0, 0
	for range rounds {
		a, b := draw(pilot, effect)
		d := Contrast(a, b, Between{})
		if d.Sign() != Unknown {
			continue
		}
		open++
		if n, ok := runsAbout(1, math.Abs(math.Log(d.Ratio.Value))/SpreadOf(a, b).SD); ok {
			a, b = draw(max(n, pilot+2), effect)
			if d := Contrast(a, b, Between{}); d.Sign() == Greater {
				found++
			}
		}
	}
	t.Logf("%.0f %% of %d plans find it", 100*float64(found)/float64(open), open)
	if float64(found) > .7*float64(open) {
		t.Errorf("%d of %d plans find it: this simulation shows nothing", found, open)
	}
}
