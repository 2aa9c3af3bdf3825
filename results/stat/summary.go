// SPDX-License-Identifier: MIT

package stat

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// confidence is the least confidence of the intervals of medians. Intervals
// end at order statistics, so the real one is a little higher: 0.969 at n = 6.
const confidence = 0.95

// Summary sums up one figure over the runs of a cell. Its fields have the unit of
// the figure, except CV and Confidence.
type Summary struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`

	// Lo and Hi are the interval of the median, distribution-free. They are nil
	// where there are too few runs for a finite one (n < 6), never made up.
	Lo         *float64 `json:"lo"`
	Hi         *float64 `json:"hi"`
	Confidence *float64 `json:"confidence"` // of Lo..Hi

	Mean float64  `json:"mean"`
	CV   *float64 `json:"cv"` // standard deviation / mean, 0.01 = 1 %; nil below 2 runs or at mean 0
	Min  float64  `json:"min"`
	Max  float64  `json:"max"`

	// seedTrimMean is the reference experiment's estimator: the first and the
	// last run in time left out, mean of the rest. It is here for comparison
	// with published numbers; outliers move it. Nil below 3 runs.
	SeedTrimMean *float64 `json:"seed_trim_mean"`

	Values   []float64 `json:"values"` // in the order of the runs
	Warnings []string  `json:"warnings,omitempty"`
}

// Summarize sums up values, which are in the order of their runs and finite. It
// returns nil if there are none.
func Summarize(values []float64) *Summary {
	if len(values) == 0 {
		return nil
	}
	sample := benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
	sum := benchmath.AssumeNothing.Summary(sample, confidence)
	s := &Summary{
		N: len(values), Median: median(values, sum.Center),
		Mean: mean(values), Min: slices.Min(values), Max: slices.Max(values),
		Values: slices.Clone(values),
	}
	if !math.IsInf(sum.Lo, 0) && !math.IsInf(sum.Hi, 0) {
		s.Lo, s.Hi, s.Confidence = &sum.Lo, &sum.Hi, &sum.Confidence
	}
	s.SeedTrimMean = seedTrimMean(values)
	s.CV = CV(values)
	for _, w := range slices.Concat(sample.Warnings, sum.Warnings) {
		s.Warnings = append(s.Warnings, w.Error())
	}
	return s
}

// seedTrimMean leaves out the first and the last value, in the order of the
// runs, and returns the mean of the rest; nil below 3 values.
func seedTrimMean(values []float64) *float64 {
	if len(values) < 3 {
		return nil
	}
	m := mean(values[1 : len(values)-1])
	return &m
}

// CV computes the coefficient of variation, standard deviation / |mean|: 0.01 = 1 %. It returns nil
// below 2 values, at mean 0, and if it is too large for a number.
func CV(values []float64) *float64 {
	m := mean(values)
	if len(values) < 2 || m == 0 {
		return nil
	}
	var ss float64
	for _, x := range values {
		ss += (x - m) * (x - m)
	}
	c := math.Sqrt(ss/float64(len(values)-1)) / math.Abs(m)
	if math.IsInf(c, 0) || math.IsNaN(c) {
		return nil
	}
	return &c
}

// RelativeWidth computes how wide the interval of the median is: half of it over the median, 0.01 =
// +-1 %. It returns nil if there is no interval, or no median to measure by.
func (s *Summary) RelativeWidth() *float64 {
	if s == nil || s.Lo == nil || s.Median == 0 {
		return nil
	}
	w := (*s.Hi - *s.Lo) / 2 / math.Abs(s.Median)
	if math.IsInf(w, 0) {
		return nil
	}
	return &w
}

func mean(v []float64) float64 {
	var sum float64
	for _, x := range v {
		sum += x
	}
	if !math.IsInf(sum, 0) {
		return sum / float64(len(v))
	}
	sum = 0 // a stranger's figures may be of any size
	for _, x := range v {
		sum += x / float64(len(v))
	}
	return max(slices.Min(v), min(sum, slices.Max(v))) // each quotient may be rounded up
}

// median returns center, the median of v, and recomputes it if the two in the middle have no finite
// sum.
func median(v []float64, center float64) float64 {
	if !math.IsInf(center, 0) {
		return center
	}
	v = sorted(v)
	return v[(len(v)-1)/2]/2 + v[len(v)/2]/2
}

// sorted returns the values in order, and leaves v as it is.
func sorted(v []float64) []float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v
}
