// SPDX-License-Identifier: MIT

package stat

import "math"

// Spread is how much runs vary, as those at hand tell it.
type Spread struct {
	SD float64 // standard deviation of their logarithms
	Of int     // degrees of freedom
}

// SpreadOf computes how much runs vary as a comparison of two cells sees it. If the two share
// blocks, it is by the ratios of blocks, so that what hits neighbours alike has no part in it. Nil
// with fewer than 3 of each, or 3 blocks.
func SpreadOf(a, b []Run) *Spread {
	const least = 3
	if min(len(a), len(b)) < least || !allPositive(a, b) {
		return nil
	}
	sortedA, okA := placed(a)
	sortedB, okB := placed(b)
	if okA && okB {
		if x, y := paired(sortedA, sortedB); len(x) >= least {
			ratios := make([]float64, len(x))
			for i := range x {
				ratios[i] = math.Log(y[i].Value / x[i].Value)
			}
			return &Spread{deviation(ratios) / math.Sqrt2, len(x) - 1}
		}
	}
	return &Spread{math.Sqrt((squareOf(deviation(logsOf(a))) + squareOf(deviation(logsOf(b)))) / 2),
		len(a) + len(b) - 2}
}

// Most computes how much runs may vary in truth: the upper limit of the standard deviation, which
// holds in 80 % (of normal runs; the quantile of chi squared as Wilson and Hilferty have it, 1931).
func (s Spread) Most() float64 {
	const z = -.8416 // of which 20 % are below
	v := 2 / (9 * float64(s.Of))
	third := max(1-v+z*math.Sqrt(v), .01)
	return s.SD / math.Sqrt(third*third*third)
}

// RunsToFind estimates how many runs of each cell a new experiment takes, in a family of so many
// comparisons, to find a true difference (.05 = 5 %) in at least [Power] of cases. It plans for
// what the spread may be in truth (Browne, 1995): by that of a pilot itself, too many plans were
// too small. ok is false if even 500 do not find it.
func RunsToFind(tests int, effect float64, s Spread) (n int, ok bool) {
	return runsAbout(tests, math.Log1p(effect)/s.Most())
}

// runsAbout approximates [RunsFor] by the normal approximation alone: about how many runs of each
// cell find a difference of sd standard deviations in a family of so many comparisons. It takes no
// time.
func runsAbout(tests int, sd float64) (n int, ok bool) {
	for n = MinRuns; n <= mostRuns; n += 2 {
		if NewReach(n, tests).Attainable() && farFindable(n, Alpha/float64(tests)) <= sd {
			return n, true
		}
	}
	return mostRuns + 1, false
}
