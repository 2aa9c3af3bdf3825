// SPDX-License-Identifier: MIT

package stat

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

// equivalence computes the p for two samples being no more than a margin apart, 0.02 = 2 %: the
// larger of two one-sided Mann-Whitney U tests (TOST, Schuirmann 1987), of B against A less the
// margin and A more the margin. Below [Alpha] the two are equal to anyone to whom the margin does
// not matter. ok is false if it cannot be tested: too few values, or any not above 0. A NaN is not,
// either: with one the test would never end.
func equivalence(a, b []float64, margin float64) (p float64, ok bool) {
	if min(len(a), len(b)) < MinRuns || margin <= 0 || margin >= 1 {
		return 1, false
	}
	for _, v := range append(a[:len(a):len(a)], b...) {
		if !(v > 0) || math.IsInf(v, 1) {
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

// EquivalentRuns tests [equivalence] of runs at the level at which [Contrast] compares them: of
// runs of the same boots, of the medians of six boots or more a side, or with the spread between
// boots that was declared.
func EquivalentRuns(a, b []Run, margin float64, between Between) (p float64, ok bool) {
	d := Contrast(a, b, between)
	switch {
	case d.TooFewUnits():
		return 1, false
	case d.Level == AcrossBoots:
		return equivalence(medians(a, Run.boot), medians(b, Run.boot), margin)
	case d.ofStarts:
		unit := unitApart(a, b).key
		return equivalence(medians(a, unit), medians(b, unit), margin)
	case d.t != nil:
		if margin <= 0 || margin >= 1 {
			return 1, false
		}
		for _, side := range []struct{ factor, sign float64 }{{1 - margin, 1}, {1 + margin, -1}} {
			over := side.sign * (d.shift - math.Log(side.factor))
			one := d.t.p(over) / 2
			if over < 0 {
				one = 1 - one
			}
			p = max(p, one)
		}
		return p, true
	}
	return equivalence(valuesOf(a), valuesOf(b), margin)
}

func scaled(v []float64, by float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = by * x
	}
	return out
}
