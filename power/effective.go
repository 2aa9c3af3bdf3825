// SPDX-License-Identifier: MIT

package power

import "math"

// fewEffective is below how many effective readings a scatter says little.
const fewEffective = 5

// scatter estimates how far the mean of readings may be from what the machine draws in the long
// run: their standard uncertainty, and how many independent readings they are worth. Readings of
// power follow each other closely: the machine is warm for a while, a meter averages, and one that
// is asked more often than it measures repeats itself. The spread over the root of their number
// would be too small then.
//
// Readings that agree with their neighbours to r1 are worth n (1 - r1) / (1 + r1), were they of a
// first-order process (AR(1)). As r1 comes out too small where there are few, it is corrected for
// its bias (Marriott and Pope 1954: 1 + 4 r1 over n). White noise on top of a slow process hides it
// from r1: then what later lags say is taken, if that is fewer. The spread of few readings is
// itself uncertain: Student's distribution is that much wider (JCGM 101:2008, 6.4.9).
func scatter(x []float64) (u, effective float64) {
	n := float64(len(x))
	if n < 2 {
		return 0, n
	}
	r, spread := correlations(x)
	if spread == 0 {
		return 0, n // a step of the instrument hides it
	}
	per := min(max(firstOrder(r, n), laterLags(r, n), 1), n/2)
	effective = n / per
	variance := spread / max(1-per/n, .5) / effective
	return math.Sqrt(variance * student(effective-1)), effective
}

// straightened subtracts the line of least squares from readings.
func straightened(x []float64) []float64 {
	var mean, slope, squares float64
	middle := float64(len(x)-1) / 2
	for i, v := range x {
		mean += v / float64(len(x))
		slope += (float64(i) - middle) * v
		squares += (float64(i) - middle) * (float64(i) - middle)
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v - mean - slope/max(squares, 1)*(float64(i)-middle)
	}
	return out
}

// lags is for how many lags correlations are looked at.
const lags = 5

// correlations computes the readings' autocorrelations at lags 1, 2 ..., and their mean square
// deviation.
func correlations(x []float64) (r [lags + 1]float64, spread float64) {
	n := float64(len(x))
	var mean float64
	for _, v := range x {
		mean += v / n
	}
	for k := 0; k <= lags && k < len(x); k++ {
		for i := k; i < len(x); i++ {
			r[k] += (x[i] - mean) * (x[i-k] - mean) / n
		}
	}
	spread = r[0]
	if spread <= 1e-18*mean*mean { // rounding
		return r, 0
	}
	for k := lags; k >= 0; k-- {
		r[k] /= spread
	}
	return r, spread
}

// firstOrder computes how many readings of a first-order process are worth one.
func firstOrder(r [lags + 1]float64, n float64) float64 {
	if n <= 4 {
		return 1
	}
	rho := min(max((n*r[1]+1)/(n-4), 0), .9999)
	return (1 + rho) / (1 - rho)
}

// laterLags computes the same for such a process under white noise: how the correlation falls from
// lag to lag is that of the process alone. 1 where the readings do not depend on each other beyond
// doubt.
func laterLags(r [lags + 1]float64, n float64) float64 {
	if n <= lags+1 || r[1] < 2/math.Sqrt(n) {
		return 1
	}
	most := lags - 1
	if n < 20 {
		most = 2
	}
	bias := min(firstOrder(r, n)/n, .5) // the mean follows the readings
	corrected := func(k int) float64 { return (1-bias)*r[k]*n/(n-float64(k)) + bias }
	var earlier, later float64
	for k := 1; k <= most; k++ {
		earlier, later = earlier+corrected(k), later+corrected(k+1)
	}
	if earlier <= 0 {
		return 1
	}
	fall := min(max(later/earlier, 0), .9999)
	return 1 + 2*corrected(1)/(1-fall)
}

// student returns the variance of Student's distribution, which has none up to 2 degrees of
// freedom: up to 4, 2 stands for it.
func student(degrees float64) float64 {
	if degrees <= 4 {
		return 2
	}
	return degrees / (degrees - 2)
}
