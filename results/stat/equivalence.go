// SPDX-License-Identifier: MIT

package stat

import "github.com/aclements/go-moremath/stats"

// Equivalence is the p of two samples' being no more than a margin apart, 0.02 = 2 %: the
// larger of two one-sided Mann-Whitney U tests (TOST, Schuirmann 1987), of B against A less
// the margin and A more the margin. Below [Alpha] the two are equal for whom the margin
// does not matter. ok is false where it cannot be tested: too few values, or any not above 0.
func Equivalence(a, b []float64, margin float64) (p float64, ok bool) {
	if min(len(a), len(b)) < MinRuns || margin <= 0 || margin >= 1 {
		return 1, false
	}
	for _, v := range append(a[:len(a):len(a)], b...) {
		if v <= 0 {
			return 1, false
		}
	}
	for _, side := range []struct {
		factor float64
		alt    stats.LocationHypothesis
	}{{1 - margin, stats.LocationGreater}, {1 + margin, stats.LocationLess}} {
		u, err := stats.MannWhitneyUTest(b, scaled(a, side.factor), side.alt)
		if err != nil { // all values are equal: the samples are a margin apart
			return 1, true
		}
		p = max(p, min(u.P, 1))
	}
	return p, true
}

func scaled(v []float64, by float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = by * x
	}
	return out
}
