// SPDX-License-Identifier: MIT

package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
)

// Ratio is B over A, of their medians.
type Ratio struct {
	Value float64 `json:"value"`
	// Lo and Hi are a bootstrap interval at [confidence]: both samples are drawn
	// anew from themselves, and 2.5 % of the ratios so found lie outside at each
	// end. Nil below MinRuns values on either side.
	Lo *float64 `json:"lo"`
	Hi *float64 `json:"hi"`
}

// MinRuns is the least number of runs of a cell from which an interval and hence
// a verdict is made: min..max of 6 holds the median with 96.9 %, that of 5 does
// not reach 95 %.
const MinRuns = 6

// resamples of the bootstrap. The ends of a 95 % interval then rest on 50
// resamples each.
const resamples = 2000

// medianRatio compares the medians of two samples. It is nil if one is empty or
// the median of a is not above 0. The resamples are drawn from a fixed seed:
// equal data gives equal intervals.
func medianRatio(a, b []float64) *Ratio {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	a, b = sorted(a), sorted(b)
	base := sortedMedian(a)
	if !(base > 0) {
		return nil
	}
	r := &Ratio{Value: sortedMedian(b) / base}
	if len(a) < MinRuns || len(b) < MinRuns {
		return r
	}
	drawsA, drawsB := medianDraws(len(a), 1), medianDraws(len(b), 2)
	ratios := make([]float64, 0, resamples)
	for i := range resamples {
		if d := drawsA[i].of(a); d > 0 {
			ratios = append(ratios, drawsB[i].of(b)/d)
		}
	}
	tail := (1 - confidence) / 2
	lo, hi := quantile(ratios, tail), quantile(ratios, 1-tail)
	r.Lo, r.Hi = &lo, &hi
	return r
}

// draw is the median of one resample: the mean of two values of the sorted sample
// that it was drawn from.
type draw struct{ low, high int32 }

func (d draw) of(sorted []float64) float64 { return (sorted[d.low] + sorted[d.high]) / 2 }

type drawKey struct {
	n    int
	seed uint64
}

var draws sync.Map // drawKey -> []draw

// medianDraws draws n of n values with replacement, many times, and finds the
// median of each. Which values these are does not depend on how large they are, so
// equal sample sizes share their draws.
func medianDraws(n int, seed uint64) []draw {
	key := drawKey{n, seed}
	if d, ok := draws.Load(key); ok {
		return d.([]draw)
	}
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	out := make([]draw, resamples)
	times := make([]int, n) // that each value was drawn
	for i := range out {
		clear(times)
		for range n {
			times[rng.IntN(n)]++
		}
		out[i] = draw{nth(times, (n-1)/2), nth(times, n/2)}
	}
	draws.Store(key, out)
	return out
}

// nth returns the value at position k, from 0, of a sorted resample.
func nth(times []int, k int) int32 {
	for i, t := range times {
		if k -= t; k < 0 {
			return int32(i)
		}
	}
	return int32(len(times) - 1) // not reached: k is less than the sum
}

// Median of v, which it does not change; NaN of nothing.
func Median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	return sortedMedian(sorted(v))
}

func sortedMedian(s []float64) float64 {
	n := len(s)
	if n%2 == 1 {
		return s[n/2]
	}
	return (s[n/2-1] + s[n/2]) / 2
}

// quantile of a sample, between its neighbours (R's type 7). It changes the order
// of s.
func quantile(s []float64, p float64) float64 {
	at := p * float64(len(s)-1)
	i := int(math.Floor(at))
	bring(s, i)
	if i+1 >= len(s) {
		return s[i]
	}
	return s[i] + (at-float64(i))*(slices.Min(s[i+1:])-s[i])
}

// bring puts the value that sorting would put at k there, what is not greater
// before it and what is not less behind it (Hoare 1961). Sorting all takes several
// times as long, and that is most of a large comparison's time.
func bring(s []float64, k int) {
	for lo, hi := 0, len(s)-1; lo < hi; {
		pivot, i, j := s[k], lo, hi
		for i <= j {
			for s[i] < pivot {
				i++
			}
			for pivot < s[j] {
				j--
			}
			if i <= j {
				s[i], s[j] = s[j], s[i]
				i, j = i+1, j-1
			}
		}
		if j < k {
			lo = i
		}
		if k < i {
			hi = j
		}
	}
}
