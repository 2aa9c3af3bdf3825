// SPDX-License-Identifier: MIT

package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

// Power is the chance with which [Reach.Finds] is found.
const Power = 0.8

// Reach is what a family of comparisons can show at all, before any run is made.
type Reach struct {
	Runs  int `json:"runs"`  // of each cell
	Tests int `json:"tests"` // comparisons that are corrected together

	// LeastP is the smallest p, corrected, that any data could give: that of samples
	// that do not overlap.
	LeastP float64 `json:"least_p"`
}

// NewReach is that of tests comparisons of two cells with so many runs each.
func NewReach(runs, tests int) Reach {
	return Reach{Runs: runs, Tests: tests, LeastP: min(1, float64(tests)*leastP(runs))}
}

// Finds is the difference of one cell that is found with a chance of [Power] while no
// other differs, in standard deviations of the runs. ok is false where even samples that do
// not overlap get no verdict.
func (r Reach) Finds() (sd float64, ok bool) {
	if !r.Attainable() {
		return 0, false
	}
	return findable(r.Runs, Alpha/float64(r.Tests)), true
}

// Attainable tells whether any data could give a verdict.
func (r Reach) Attainable() bool { return r.Runs >= MinRuns && r.LeastP < Alpha }

// MaxTests is how many comparisons at most can get verdicts together by so many runs.
func MaxTests(runs int) int {
	if runs < MinRuns {
		return 0
	}
	return max(0, int(math.Ceil(min(Alpha/leastP(runs), math.MaxInt32)))-1) // below Alpha, not at it
}

// mostRuns is where a search for enough runs ends: more of a cell nobody makes.
const mostRuns = 500

// RunsFor is how many runs of each cell find a difference of sd standard deviations in a
// family of so many comparisons; 0 asks only that a verdict is possible. ok is false where
// even 500 do not.
func RunsFor(tests int, sd float64) (n int, ok bool) {
	n = MinRuns + sort.Search(mostRuns-MinRuns+1, func(i int) bool {
		if sd == 0 {
			return float64(tests)*leastP(MinRuns+i) < Alpha
		}
		finds, ok := NewReach(MinRuns+i, tests).Finds()
		return ok && finds <= sd
	})
	return n, n <= mostRuns
}

// leastP is the p of the U test on two samples of n values that do not overlap: two of all
// the ways to deal 2n ranks to them.
func leastP(n int) float64 {
	p := 2.0
	for k := 1; k <= n; k++ {
		p *= float64(k) / float64(n+k)
	}
	return min(1, p)
}

// exactRuns is up to where the U test is exact, as that of [Diff] is.
const exactRuns = 50

// critical is the largest U of n and n values whose two-sided p is below alpha; -1: none.
func critical(n int, alpha float64) int {
	if n > exactRuns {
		mean, sd := float64(n*n)/2, math.Sqrt(float64(n*n*(2*n+1))/12)
		z := math.Sqrt2 * math.Erfinv(1-alpha)
		return int(math.Floor(mean - z*sd - 0.5)) // with the correction for continuity
	}
	share, sum := sharesOfU(n), 0.0
	for u, s := range share {
		if sum += s; 2*sum >= alpha {
			return u - 1
		}
	}
	return len(share) - 1
}

// sharesOfU is how likely each U up to its mean is where two samples of n values do not
// differ (Mann and Whitney 1947: counts of partitions, by a product of polynomials).
func sharesOfU(n int) []float64 {
	most := n * n / 2
	share := make([]float64, most+1)
	share[0] = 1
	for k := 1; k <= n; k++ {
		// Times (1 - x^(n+k)) / (1 - x^k), and k/(n+k) so that the sum stays 1.
		for u := most; u >= n+k; u-- {
			share[u] -= share[u-n-k]
		}
		for u := k; u <= most; u++ {
			share[u] += share[u-k]
		}
		for u := range share {
			share[u] *= float64(k) / float64(n+k)
		}
	}
	return share
}

// trials is by how many pairs of samples the chance of finding a difference is estimated:
// its standard error is below 1.3 %. The draws are always the same, so the answer is.
const trials = 1000

// findable is the difference in standard deviations of normal samples of n values that a
// test at level alpha finds with a chance of Power. Beyond 100 values the normal
// approximation is taken (Noether 1987).
func findable(n int, alpha float64) float64 {
	if n > 2*exactRuns {
		z := math.Sqrt2 * (math.Erfinv(1-alpha) + math.Erfinv(2*Power-1))
		return z * math.Sqrt(2*math.Pi/(3*float64(n)))
	}
	most := critical(n, alpha)
	rng := rand.New(rand.NewPCG(1947, uint64(n)))
	a, b := make([][]float64, trials), make([][]float64, trials)
	for i := range trials {
		a[i], b[i] = normal(rng, n), normal(rng, n)
	}
	lo, hi := 0.0, 16.0
	for hi-lo > 0.005 {
		mid, found := (lo+hi)/2, 0
		for i := range trials {
			if above(a[i], b[i], mid) <= most {
				found++
			}
		}
		if found >= Power*trials {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

func normal(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	slices.Sort(v)
	return v
}

// above counts the pairs whose value of a is above that of b, which is shifted up; both are
// sorted. It is U of a.
func above(a, b []float64, shift float64) (u int) {
	below := 0
	for _, x := range a {
		for below < len(b) && b[below]+shift < x {
			below++
		}
		u += below
	}
	return u
}
