// SPDX-License-Identifier: MIT

package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
)

// Qn by hand: of 1, 2, 4, 8, 16 the third of the ten distances counts.
func TestQn(t *testing.T) {
	if got, want := Qn([]float64{16, 1, 8, 2, 4}), 2.21914*3; math.Abs(got-want) > 1e-9 {
		t.Errorf("%v, want %v", got, want)
	}
	for _, v := range [][]float64{nil, {1}, {3, 3, 3, 3, 9}} {
		if got := Qn(v); got != 0 {
			t.Errorf("%v: %v", v, got)
		}
	}
	// Nearly half of them may be anything.
	if got := Qn([]float64{1, 1.1, .9, 1.05, .95, 1e6, -1e6, 1e9}); got > 2 {
		t.Errorf("outliers move it to %v", got)
	}
}

// Of many values the distances are not listed, and the one that counts is the same.
func TestDistanceAt(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 3))
	for _, n := range []int{2, 3, 10, 57, mostListed} {
		s := make([]float64, n)
		for i := range s {
			s[i] = math.Round(rng.NormFloat64()*100) / 7 // some are equal
		}
		slices.Sort(s)
		var all []float64
		for i, x := range s {
			for _, y := range s[i+1:] {
				all = append(all, y-x)
			}
		}
		slices.Sort(all)
		for _, k := range []int{1, (len(all) + 3) / 4, len(all)} {
			if got := distanceAt(s, k); got != all[k-1] {
				t.Errorf("%d of %d: %v, want %v", k, n, got, all[k-1])
			}
		}
	}
	many := make([]float64, 20_000)
	for i := range many {
		many[i] = rng.NormFloat64()
	}
	if got := Qn(many); math.Abs(got-1) > .05 {
		t.Errorf("of 20,000 normal values: %v", got)
	}
}

// One more figure of the same kind is found far from n others as often as P says, whether that is
// simulated or by the formula for many, which says it a little less often.
func TestOthersP(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, n := range []int{6, 9, 20, simulatedOthers, simulatedOthers + 1, 80} {
		rounds := long.Rounds(80_000, 4_000_000) / n
		least := .8
		if n > simulatedOthers {
			least = .4
		}
		for _, level := range []float64{.05, .01} {
			far, v, below := farOf(n, level), make([]float64, n), 0
			for range rounds {
				for i := range v {
					v[i] = rng.NormFloat64()
				}
				if o := NewOthers(v); math.Abs(rng.NormFloat64()-o.Center) > far*o.Scale {
					below++
				}
			}
			got := float64(below) / float64(rounds)
			t.Logf("%d others: p below %g in %.5f, further than %.2f spreads", n, level, got, far)
			if slack := 4 * math.Sqrt(level/float64(rounds)); got > 1.05*level+slack || got < least*level-slack {
				t.Errorf("%d others: p is below %g in %.5f", n, level, got)
			}
		}
	}
}

// farOf is how far from n others P is the level.
func farOf(n int, level float64) float64 {
	lo, hi := 0.0, 100.0
	for range 40 {
		if mid := (lo + hi) / 2; (Others{N: n, Scale: 1}).P(mid, 1) > level {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

func TestOthersPOfNothing(t *testing.T) {
	for _, o := range []Others{{}, {N: 1, Scale: 1}, {N: 9}, {N: 99, Scale: math.NaN()}} {
		if p := o.P(5, 1); p != 1 {
			t.Errorf("%+v: %v", o, p)
		}
	}
	if p := (Others{N: 20, Scale: 1}).P(0, 0); p != 1 {
		t.Error(p)
	}
}

// The interval of runs beside others holds what it says, and is none of few.
func TestApart(t *testing.T) {
	if _, _, ok := Apart([]Part{{make([]float64, 5), 1}}, make([]float64, 20)); ok {
		t.Error("an interval of 5 runs")
	}
	if _, _, ok := Apart([]Part{{make([]float64, 6), 1}}, make([]float64, 5)); ok {
		t.Error("an interval beside 5 others")
	}
	rng := rand.New(rand.NewPCG(8, 8))
	sample := func(n int, sd float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = sd * rng.NormFloat64()
		}
		slices.Sort(v)
		return v
	}
	held, rounds := 0, long.Rounds(300, 4000)
	for range rounds {
		parts := []Part{{sample(8, 1), 1}, {sample(10, 2), .5}}
		lo, hi, ok := Apart(parts, sample(30, 1))
		if !ok || lo > hi {
			t.Fatal(lo, hi, ok)
		}
		if lo <= 0 && 0 <= hi {
			held++
		}
	}
	if share := float64(held) / float64(rounds); share < .9 {
		t.Errorf("the interval holds the truth in %.3f", share)
	}
}
