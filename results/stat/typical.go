// SPDX-License-Identifier: MIT

package stat

import (
	"math/bits"
	"math/rand/v2"
)

// typicalValues computes the interval of the centre of differences by their typical values
// (Hartigan 1969): it picks, of the means of all their subsets, those between which the centre lies
// with [confidence]. It is exact for any differences that are as likely above their centre as below
// it, and the mean of all lies in the middle of it. ok is false below MinRuns.
func typicalValues(d []float64) (lo, hi float64, ok bool) {
	if len(d) < MinRuns {
		return 0, 0, false
	}
	means := subsetMeans(d)
	k := int(float64(len(means)+1) * (1 - confidence) / 2)
	return at(means, k-1), at(means, len(means)-k), true
}

// mostSubsets is up to how many values all subsets are taken; of more, as many are drawn as there
// would be, from a fixed seed: equal data gives equal intervals.
const mostSubsets = 12

// subsetMeans computes the means of the non-empty subsets of d, or draws some of them if d is
// large.
func subsetMeans(d []float64) []float64 {
	n := len(d)
	if n > mostSubsets {
		return drawnMeans(d, 1<<mostSubsets-1)
	}
	sums, means := make([]float64, 1<<n), make([]float64, 1<<n-1)
	for set := 1; set < 1<<n; set++ {
		sums[set] = sums[set&(set-1)] + d[bits.TrailingZeros(uint(set))]
		means[set-1] = sums[set] / float64(bits.OnesCount(uint(set)))
	}
	return means
}

func drawnMeans(d []float64, subsets int) []float64 {
	rng := rand.New(rand.NewPCG(1969, uint64(len(d))))
	means := make([]float64, 0, subsets)
	for len(means) < subsets {
		sum, n, word := 0.0, 0, uint64(0)
		for i, x := range d {
			if i%64 == 0 {
				word = rng.Uint64()
			}
			if word&1 != 0 {
				sum, n = sum+x, n+1
			}
			word >>= 1
		}
		if n > 0 {
			means = append(means, sum/float64(n))
		}
	}
	return means
}
