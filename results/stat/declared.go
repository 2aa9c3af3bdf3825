// SPDX-License-Identifier: MIT

package stat

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

// declared compares medians of units, boots or starts, with a spread between them that was
// declared, and not less than what is seen with it; what the runs within units leave open comes on
// top.
func declared(a, b []Run, unit func(Run) string, between Spread) Difference {
	d := Difference{NA: len(a), NB: len(b), Level: DeclaredStarts, Least: 0}
	var means [2]float64
	var of [2][]float64
	for side, runs := range [][]Run{a, b} {
		of[side] = medians(runs, unit)
		for i, m := range of[side] {
			of[side][i] = math.Log(m)
		}
		means[side] = mean(of[side])
	}
	t := student{}
	spread := between.with(of)
	t.add(squareOf(spread.SD)*(1/float64(len(of[0]))+1/float64(len(of[1]))), spread.Of)
	for _, runs := range [][]Run{a, b} {
		t.add(openWithin(runs, unit))
	}
	d.t, d.shift = &t, means[1]-means[0]
	d.P = t.p(d.shift)
	d.Ratio = d.at(1 - confidence)
	d.Adjusted, d.Between = d.P, spread.SD
	return d
}

// with adds to a declared spread what is seen of it, as the logarithms of both sides have it. It
// never becomes less.
func (s Spread) with(of [2][]float64) Spread {
	squares, df := squareOf(s.SD)*float64(s.Of), s.Of
	for _, v := range of {
		squares += squareOf(deviation(v)) * float64(len(v)-1)
		df += len(v) - 1
	}
	return Spread{max(s.SD, math.Sqrt(squares/float64(max(df, 1)))), max(df, 1)}
}

// student is a variance that is the sum of several, of which the least known has df degrees of
// freedom: Student's t of these errs on the safe side (Mickey and Brown 1966). By Satterthwaite's,
// 13 % were wrong where a spread was of two boots.
type student struct {
	variance float64
	df       int // 0: nothing is known
}

// openWithin estimates how much variance runs within units leave to the mean of the units' medians,
// of their logarithms, and its degrees of freedom. A median has pi/2 of a mean's variance.
func openWithin(runs []Run, unit func(Run) string) (variance float64, df int) {
	units := unitsOf(runs, unit)
	var squares, share float64
	for _, v := range perUnit(runs, units, unit) {
		for i, x := range v {
			v[i] = math.Log(x)
		}
		m := mean(v)
		for _, x := range v {
			squares += (x - m) * (x - m)
		}
		df += len(v) - 1
		share += 1 / float64(len(v))
	}
	if df == 0 {
		return 0, 0
	}
	k := float64(len(units))
	return math.Pi / 2 * squares / float64(df) * share / (k * k), df
}

// quantileT finds the quantile of Student's t by bisection.
func quantileT(d stats.TDist, p float64) float64 {
	lo, hi := 0.0, 1e6
	for range 60 {
		if mid := (lo + hi) / 2; d.CDF(mid) < p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

func deviation(v []float64) float64 {
	m, ss := mean(v), 0.0
	for _, x := range v {
		ss += (x - m) * (x - m)
	}
	return math.Sqrt(ss / float64(max(len(v)-1, 1)))
}

func (t *student) add(variance float64, df int) {
	t.variance += variance
	if df > 0 && (t.df == 0 || df < t.df) {
		t.df = df
	}
}

func (t *student) dist() stats.TDist { return stats.TDist{V: float64(max(t.df, 1))} }

func (t *student) p(shift float64) float64 {
	if !(t.variance > 0) {
		return 1
	}
	return min(1, 2*(1-t.dist().CDF(math.Abs(shift)/math.Sqrt(t.variance))))
}

// far computes how far the truth may be off, with an error of alpha.
func (t *student) far(alpha float64) float64 {
	return quantileT(t.dist(), 1-alpha/2) * math.Sqrt(t.variance)
}
