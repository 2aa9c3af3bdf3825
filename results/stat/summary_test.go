// SPDX-License-Identifier: MIT

package stat

import (
	"encoding/json"
	"math"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestSummarize(t *testing.T) {
	// In the order of the runs: first 9 and last 2 are what seed_trim_mean drops.
	s := Summarize([]float64{9, 4, 6, 5, 3, 2})
	if s.N != 6 || s.Median != 4.5 || s.Min != 2 || s.Max != 9 {
		t.Errorf("%+v", s)
	}
	// min..max of 6 holds the median with probability 1 - 2/2^6.
	if s.Lo == nil || *s.Lo != 2 || *s.Hi != 9 || !near(*s.Confidence, 1-2/64.) {
		t.Errorf("interval %v..%v at %v", s.Lo, s.Hi, s.Confidence)
	}
	if !near(*s.SeedTrimMean, (4+6+5+3)/4.) {
		t.Errorf("seed_trim_mean %v", *s.SeedTrimMean)
	}
	// mean 29/6, sum of squares 171 - 29^2/6
	if want := math.Sqrt((171-29*29/6.)/5) / (29 / 6.); !near(*s.CV, want) {
		t.Errorf("CV %v, want %v", *s.CV, want)
	}
}

func TestSummarizeTenRuns(t *testing.T) {
	s := Summarize([]float64{10, 1, 9, 2, 8, 3, 7, 4, 6, 5})
	// The 2nd to the 9th of 10: 1 - 2 (1 + 10) / 2^10.
	if s.Lo == nil || *s.Lo != 2 || *s.Hi != 9 || !near(*s.Confidence, 1-22/1024.) {
		t.Errorf("interval %v..%v at %v", *s.Lo, *s.Hi, *s.Confidence)
	}
}

// Below 6 runs there is no interval at this confidence, and none is shown.
func TestSummarizeFewRuns(t *testing.T) {
	if Summarize(nil) != nil {
		t.Error("statistics of nothing")
	}
	for n := 1; n < 6; n++ {
		s := Summarize([]float64{5, 4, 3, 2, 1}[:n])
		if s.Lo != nil || s.Hi != nil || s.Confidence != nil || len(s.Warnings) == 0 {
			t.Errorf("n = %d: %+v", n, s)
		}
		if (s.SeedTrimMean != nil) != (n >= 3) || (s.CV != nil) != (n >= 2) {
			t.Errorf("n = %d: seed_trim_mean %v, CV %v", n, s.SeedTrimMean, s.CV)
		}
	}
	if s := Summarize([]float64{0, 0}); s.CV != nil {
		t.Errorf("CV around 0: %v", *s.CV)
	}
}

// Figures of any size have a summary of finite numbers, or none: a journal may be anybody's.
func TestSummaryOfTheLargest(t *testing.T) {
	const most = math.MaxFloat64
	for _, v := range [][]float64{{most, most}, {most, -most, most, -most, most, most}, {-most, -most, -most},
		{5e-324, most}, {5e-324, -5e-324}} {
		s := Summarize(v)
		if _, err := json.Marshal(s); err != nil {
			t.Errorf("%g: %v", v, err)
		}
	}
}
