// SPDX-License-Identifier: MIT

package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"

	"github.com/aclements/go-moremath/stats"
)

// Others are figures of the same kind, such as those of the other pairs of a fleet, that one is
// held against: where their middle is, and how far they are apart. Both are of half of them, so
// that a few that are far off hide nothing.
type Others struct {
	N      int
	Center float64 // their median
	Scale  float64 // their standard deviation, by [Qn]; of normal ones without bias where N is large
}

// NewOthers sums up figures; it does not change v.
func NewOthers(v []float64) Others {
	s := sorted(v)
	o := Others{N: len(s)}
	if o.N > 0 {
		o.Center = sortedMedian(s)
		o.Scale = qnSorted(s)
	}
	return o
}

// Qn computes the spread of v from the distances of all pairs of values (Rousseeuw and Croux 1993):
// about the smallest quarter of them. Half of the values may be anything. 0 below 2 values.
func Qn(v []float64) float64 { return qnSorted(sorted(v)) }

// qnFactor makes it the standard deviation of normal values.
const qnFactor = 2.21914

// mostListed is of how many values all distances are listed: those of 20,000 take 1.6 GB.
const mostListed = 500

// distanceAt finds the k-th smallest distance of two of the sorted values, from 1. It searches all
// numbers: those that are not negative are in the order of their bits.
func distanceAt(s []float64, k int) float64 {
	bits := sort.Search(math.MaxInt64, func(b int) bool {
		d, n, from := math.Float64frombits(uint64(b)), 0, 0
		for i, x := range s {
			for x-s[from] > d {
				from++
			}
			n += i - from
		}
		return n >= k
	})
	return math.Float64frombits(uint64(bits))
}

func qnSorted(s []float64) float64 {
	n := len(s)
	if n < 2 {
		return 0
	}
	h := n/2 + 1
	k := h * (h - 1) / 2
	if n > mostListed {
		return qnFactor * distanceAt(s, k)
	}
	distances := make([]float64, 0, n*(n-1)/2)
	for i, x := range s {
		for _, y := range s[i+1:] {
			distances = append(distances, y-x)
		}
	}
	bring(distances, k-1)
	return qnFactor * distances[k-1]
}

// P computes how often a figure like the others, of the same centre and spread, would be as far
// from their middle as x is. variance is x's, relative to that of one of the others: 1/k for the
// mean of k such figures. It is exact for normal ones, however few. 1 if nothing is known.
func (o Others) P(x, variance float64) float64 {
	if o.N < 2 || !(o.Scale > 0) || !(variance > 0) {
		return 1
	}
	t := math.Abs(x-o.Center) / o.Scale
	if o.N > simulatedOthers {
		// The median's variance is pi/2n, and Qn is as good as the standard deviation of .82 n
		// values.
		t /= math.Sqrt(variance + math.Pi/(2*float64(o.N)))
		return min(1, 2*stats.TDist{V: .82 * float64(o.N-1)}.CDF(-t))
	}
	draws := othersDraws(o.N)
	sd := math.Sqrt(2 * variance)
	if p := tails(draws[:othersTrials/10], t, sd); p > 2*Alpha {
		return p // no test of these is near its level
	}
	return tails(draws, t, sd)
}

// tails averages, over the draws, the chance of a figure as far off as t spreads.
func tails(draws []othersDraw, t, sd float64) float64 {
	sum := 0.0
	for _, d := range draws {
		sum += math.Erfc((t*d.scale+d.center)/sd) + math.Erfc((t*d.scale-d.center)/sd)
	}
	return min(1, sum/2/float64(len(draws)))
}

// simulatedOthers is up to how many others the chance is simulated. The draws are always the same.
const simulatedOthers, othersTrials = 40, 4000

type othersDraw struct{ center, scale float64 }

var othersKnown sync.Map // n -> func() []othersDraw

// othersDraws draws many samples of n normal values, once, and returns their middles and spreads.
func othersDraws(n int) []othersDraw {
	make, _ := othersKnown.LoadOrStore(n, sync.OnceValue(func() []othersDraw {
		rng := rand.New(rand.NewPCG(1993, uint64(n)))
		out, v := make([]othersDraw, othersTrials), make([]float64, n)
		for i := range out {
			for k := range v {
				v[k] = rng.NormFloat64()
			}
			slices.Sort(v)
			out[i] = othersDraw{sortedMedian(v), qnSorted(v)}
		}
		return out
	}))
	return make.(func() []othersDraw)()
}

// Part is the runs of one cell in a figure that is made of several: of their medians, weighted.
type Part struct {
	Sorted []float64
	Weight float64
}

// MedianOf computes the figure.
func MedianOf(parts []Part) float64 {
	sum, weights := 0.0, 0.0
	for _, p := range parts {
		sum, weights = sum+p.Weight*sortedMedian(p.Sorted), weights+p.Weight
	}
	return sum / weights
}

// Apart computes the bootstrap interval, at [confidence], of how far the weighted mean of the
// parts' medians is from the median of others, which are sorted: runs and others are resampled from
// themselves. ok is false below [MinRuns] of any. Equal data gives equal intervals.
func Apart(parts []Part, others []float64) (lo, hi float64, ok bool) {
	if len(parts) == 0 || len(others) < MinRuns {
		return 0, 0, false
	}
	sums, weights := make([]float64, resamples), 0.0
	for i, p := range parts {
		if len(p.Sorted) < MinRuns {
			return 0, 0, false
		}
		for k, d := range medianDraws(len(p.Sorted), uint64(1000+i%mostSeeds)) {
			sums[k] += p.Weight * d.of(p.Sorted)
		}
		weights += p.Weight
	}
	for k, d := range medianDraws(len(others), 999) {
		sums[k] = sums[k]/weights - d.of(others)
	}
	tail := (1 - confidence) / 2
	return quantile(sums, tail), quantile(sums, 1-tail), true
}

// mostSeeds is of how many parts the draws are independent: they stay in memory.
const mostSeeds = 64
