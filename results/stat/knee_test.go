// SPDX-License-Identifier: MIT

package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
)

// kneeOf plays starts of sizes of which the figure at each is known, and finds the knee.
func kneeOf(rng *rand.Rand, machine, starts int, sizes []float64, truth func(float64) float64) Knee {
	m := machines[machine]
	runs := make([][]Run, len(sizes))
	for s := range starts {
		all := m.start(rng)
		for i, x := range sizes {
			runs[i] = append(runs[i], Run{Value: 50 * all * truth(x) * m.own(rng), Boot: "b", Session: "s",
				Start: fmt.Sprint(s), Rep: s})
		}
	}
	var ratios []*Ratio
	last := len(sizes) - 1
	for i := range last {
		ratios = append(ratios, Contrast(runs[last], runs[i], Between{}).Ratio)
	}
	return KneeOf(sizes, ratios, .05)
}

// Wherever the knee is, between sizes, at one or beyond all, and however it bends, it is in the
// interval in at least 95 % of experiments; so it is where two neighbours are at the limit itself,
// one on either side. Of a knee between others enough starts tell both ends.
func TestKneeHolds(t *testing.T) {
	long.Garbage(t)
	rounds := long.Rounds(200, 4_000)
	sizes := []float64{4, 5, 6, 8, 12, 16, 24, 32, 64}
	edge := func(x float64) float64 { // at 8 a hair less than full, at 12 a hair more
		switch {
		case x < 8:
			return .6
		case x > 12:
			return 1
		}
		return .95 + 1e-12*(x-10)
	}
	for m := range machines {
		for _, c := range []struct {
			name   string
			starts int
			bend   float64 // how fast the figure falls below the knee; 0: at the edge
			told   float64 // share of experiments that tell both ends, at least
		}{{"a cliff, 6 starts", 6, 4, .15}, {"a slope, 10 starts", 10, .5, .35}, {"a slope, 24 starts", 24, .5, .8},
			{"an edge, 8 starts", 8, 0, 0}} {
			rng := rand.New(rand.NewPCG(uint64(m)+31, uint64(c.starts)))
			wrong, both, asked, off := 0, 0, 0, 0.0
			for range rounds {
				knee, truth := 10.0, edge
				if c.bend > 0 {
					knee = 3 * math.Pow(40./3, rng.Float64())
					truth = func(x float64) float64 { return math.Min(1, .95*math.Pow(x/knee, c.bend)) }
				}
				k := kneeOf(rng, m, c.starts, sizes, truth)
				if k.Below >= 0 && knee <= sizes[k.Below] || k.From >= 0 && knee > sizes[k.From] {
					wrong++
				}
				if c.bend > 0 && knee > sizes[0] && knee < 24 {
					if asked++; k.Below >= 0 && k.From >= 0 {
						both++
					}
					if k.At != nil {
						off += math.Abs(math.Log2(*k.At / knee))
					}
				}
			}
			t.Logf("%s, %s: %d of %d leave the knee out; %d of %d tell both ends; the estimate is off by %.2f octaves",
				machines[m].name, c.name, wrong, rounds, both, asked, off/float64(max(asked, 1)))
			if most := float64(rounds)*.05 + 3*math.Sqrt(.05*.95*float64(rounds)); float64(wrong) > most {
				t.Errorf("%s, %s: %d of %d leave the knee out", machines[m].name, c.name, wrong, rounds)
			}
			if float64(both) < c.told*float64(asked) || off > .4*float64(asked) {
				t.Errorf("%s, %s: %d of %d tell both ends, off by %g", machines[m].name, c.name, both, asked, off)
			}
		}
	}
}

// Where nothing bends, a knee is told in at most 2.5 %.
func TestKneeOfNone(t *testing.T) {
	long.Garbage(t)
	rounds := long.Rounds(200, 4_000)
	for m := range machines {
		rng, told := rand.New(rand.NewPCG(uint64(m), 77)), 0
		for range rounds {
			if k := kneeOf(rng, m, 8, []float64{1, 2, 4, 8, 16}, func(float64) float64 { return 1 }); k.Below >= 0 {
				told++
			}
		}
		if float64(told) > float64(rounds)*.025+3*math.Sqrt(.025*.975*float64(rounds)) {
			t.Errorf("%s: %d of %d tell a knee", machines[m].name, told, rounds)
		}
	}
}

// What is told of some ratios and their intervals.
func TestKneeOf(t *testing.T) {
	q := func(lo, hi float64) *Ratio { return &Ratio{(lo + hi) / 2, &lo, &hi} }
	bare := func(v float64) *Ratio { return &Ratio{Value: v} }
	sizes := []float64{1, 2, 4, 8}
	for _, c := range []struct {
		name        string
		ratios      []*Ratio
		below, from int
		at          float64 // 0: none
		disorder    bool
	}{
		{"a step", []*Ratio{q(.4, .5), q(.6, .8), q(.98, 1.02)}, 1, 2, 2 * math.Pow(2, .25/.3), false},
		{"full all along", []*Ratio{q(.97, 1.02), q(.98, 1.02), q(.98, 1.02)}, -1, 0, 0, false},
		{"it grows to the end", []*Ratio{q(.1, .2), q(.3, .4), q(.6, .7)}, 2, -1, 4 * math.Pow(2, .3/.35), false},
		{"nobody can tell the middle", []*Ratio{q(.4, .5), q(.9, 1), q(.98, 1)}, 0, 2, 2, false},
		{"too few runs", []*Ratio{bare(.4), bare(.9), bare(1)}, -1, -1, 3, false},
		{"one that failed", []*Ratio{nil, q(.6, .8), q(.98, 1)}, -1, 2, 2 * math.Pow(2, .25/.29), false},
		{"larger ones have less", []*Ratio{q(.97, 1), q(.6, .8), q(.98, 1)}, -1, 2, 0, true},
	} {
		k := KneeOf(sizes, c.ratios, .05)
		if k.Below != c.below || k.From != c.from || k.Disorder != c.disorder {
			t.Errorf("%s: %+v", c.name, k)
		}
		if (k.At != nil) != (c.at > 0) && c.name != "nobody can tell the middle" && c.name != "larger ones have less" {
			t.Errorf("%s: at %v", c.name, k.At)
		} else if c.name == "a step" && math.Abs(*k.At-c.at) > .01 {
			t.Errorf("%s: at %g, want %g", c.name, *k.At, c.at)
		}
	}
}
