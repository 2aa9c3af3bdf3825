// SPDX-License-Identifier: MIT

package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
)

// A pilot of six values whose logarithms have a standard deviation of 1 %: t of 5 degrees of
// freedom is 2.571, so (2.571 x 1.2533 x .01 / .01)^2 = 10.4 for 1 %.
func TestRunsAfterPilot(t *testing.T) {
	pilot := []float64{100, 100, 100, 102, 102, 102} // +-.99 % around the middle: s = 1.0847 %
	for _, c := range []struct {
		pilot []float64
		share float64
		want  int
	}{
		{pilot, .01, 14}, {pilot, .02, 4}, {pilot, .005, 50}, {pilot[:3], .01, 0}, // no spread
		{pilot[:1], .01, 0}, {[]float64{0, 1, 2}, .01, 0}, {pilot, 0, 0},
	} {
		if got := RunsAfterPilot(c.pilot, c.share); got != c.want {
			t.Errorf("%v, %g: %d, want %d", c.pilot, c.share, got, c.want)
		}
	}
}

// Whatever the distribution, the interval of the median after a pilot and a number that it
// fixed holds the true one in 95 %, or nearly (94.3 % of 20000 where the values are skewed: the
// pilot's are among them, and one that spreads little by chance asks for few more); where one
// looks after each run and ends when the interval is narrow, it does not.
func TestCoverageAfterPilot(t *testing.T) {
	const pilot, most, share = 6, 100, .005
	rounds := long.Rounds(1000, 20000)
	for _, c := range []struct {
		name string
		draw func(*rand.Rand) float64 // of median 1
	}{
		{"normal", func(rng *rand.Rand) float64 { return 1 + .01*rng.NormFloat64() }},
		{"heavy tails", func(rng *rand.Rand) float64 {
			return max(.1, 1+.006*rng.NormFloat64()/max(.05, rng.ExpFloat64()))
		}},
		{"skewed", func(rng *rand.Rand) float64 { return 1 + .015*(rng.ExpFloat64()-.6931471805599453) }},
	} {
		rng, held, heldByLooking, narrow := rand.New(rand.NewPCG(16, 1)), 0, 0, 0
		holds := func(v []float64) bool { s := Summarize(v); return *s.Lo <= 1 && 1 <= *s.Hi }
		for range rounds {
			v := make([]float64, most)
			for i := range v {
				v[i] = c.draw(rng)
			}
			n := min(max(pilot, RunsAfterPilot(v[:pilot], share)), most)
			if holds(v[:n]) {
				held++
			}
			if w := Summarize(v[:n]).RelativeWidth(); n < most && *w <= share {
				narrow++
			}
			looked := pilot
			for looked < most && *Summarize(v[:looked]).RelativeWidth() > share {
				looked += 2
			}
			if holds(v[:looked]) {
				heldByLooking++
			}
		}
		t.Logf("%s: %.1f %% hold the median, %.1f %% by looking; %.0f %% are narrow", c.name,
			100*float64(held)/float64(rounds), 100*float64(heldByLooking)/float64(rounds),
			100*float64(narrow)/float64(rounds))
		// two standard errors
		if least := .94 - 2*math.Sqrt(.95*.05/float64(rounds)); float64(held) < least*float64(rounds) {
			t.Errorf("%s: %d of %d intervals hold the median", c.name, held, rounds)
		}
		if c.name == "normal" && heldByLooking > held-rounds/100 {
			t.Errorf("looking after each run holds as well (%d and %d): this simulation shows nothing", heldByLooking,
				held)
		}
	}
}
