// SPDX-License-Identifier: MIT

package stat

import "math"

// Scatter computes how much runs vary as a comparison of two cells sees it: the standard deviation
// of their logarithms. If the two share blocks, it is that of the ratios of blocks over the square
// root of 2, so that what hits neighbours alike has no part in it. ok is false with fewer than 3 of
// each, or 3 blocks.
func Scatter(a, b []Run) (sd float64, ok bool) {
	const least = 3
	if min(len(a), len(b)) < least || !allPositive(a, b) {
		return 0, false
	}
	sortedA, okA := placed(a)
	sortedB, okB := placed(b)
	if okA && okB {
		if x, y := paired(sortedA, sortedB); len(x) >= least {
			ratios := make([]float64, len(x))
			for i := range x {
				ratios[i] = math.Log(y[i] / x[i])
			}
			return deviation(ratios) / math.Sqrt2, true
		}
	}
	return math.Sqrt((squareOf(deviation(logsOf(a))) + squareOf(deviation(logsOf(b)))) / 2), true
}

// RunsAbout approximates [RunsFor] by the normal approximation alone: about how many runs of each
// cell find a difference of sd standard deviations in a family of so many comparisons. It takes no
// time.
func RunsAbout(tests int, sd float64) (n int, ok bool) {
	for n = MinRuns; n <= mostRuns; n += 2 {
		if NewReach(n, tests).Attainable() && farFindable(n, Alpha/float64(tests)) <= sd {
			return n, true
		}
	}
	return mostRuns + 1, false
}
