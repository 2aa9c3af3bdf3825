package report

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Confidence is the least confidence of the intervals of medians. Intervals
// end at order statistics, so the real one is a little higher: 0.969 at n = 6.
const Confidence = 0.95

// Stat sums up one figure over the runs of a cell. Its fields have the unit of
// the figure, except CV and Confidence.
type Stat struct {
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

	// SeedTrimMean is the reference experiment's estimator: the first and the
	// last run in time left out, mean of the rest. It is here for comparison
	// with published numbers; outliers move it. Nil below 3 runs.
	SeedTrimMean *float64 `json:"seed_trim_mean"`

	Values   []float64 `json:"values"` // in the order of the runs
	Warnings []string  `json:"warnings,omitempty"`
}

// NewStat sums up values, which are in the order of their runs and finite. It
// returns nil if there are none.
func NewStat(values []float64) *Stat {
	if len(values) == 0 {
		return nil
	}
	sample := benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
	sum := benchmath.AssumeNothing.Summary(sample, Confidence)
	s := &Stat{
		N: len(values), Median: sum.Center,
		Mean: mean(values), Min: slices.Min(values), Max: slices.Max(values),
		Values: slices.Clone(values),
	}
	if !math.IsInf(sum.Lo, 0) && !math.IsInf(sum.Hi, 0) {
		s.Lo, s.Hi, s.Confidence = &sum.Lo, &sum.Hi, &sum.Confidence
	}
	if s.N >= 3 {
		m := mean(values[1 : s.N-1])
		s.SeedTrimMean = &m
	}
	s.CV = cv(values, s.Mean)
	for _, w := range slices.Concat(sample.Warnings, sum.Warnings) {
		s.Warnings = append(s.Warnings, w.Error())
	}
	return s
}

func mean(v []float64) float64 {
	var sum float64
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

func cv(v []float64, mean float64) *float64 {
	if len(v) < 2 || mean == 0 {
		return nil
	}
	var ss float64
	for _, x := range v {
		ss += (x - mean) * (x - mean)
	}
	c := math.Sqrt(ss/float64(len(v)-1)) / math.Abs(mean)
	return &c
}
