// SPDX-License-Identifier: MIT

package stat_test

import (
	"fmt"

	"github.com/zcbench/zcbench/results/stat"
)

// The median of runs, with an interval that assumes no distribution.
func ExampleSummarize() {
	s := stat.Summarize([]float64{93.1, 94.0, 93.7, 92.8, 93.9, 93.4})
	fmt.Printf("%.2f, %.1f to %.1f at %.3f\n", s.Median, *s.Lo, *s.Hi, *s.Confidence)

	few := stat.Summarize([]float64{93.1, 94.0, 93.7})
	fmt.Println(few.Lo, few.Warnings)
	// Output:
	// 93.55, 92.8 to 94.0 at 0.969
	// <nil> [need >= 6 samples for confidence interval at level 0.95]
}

// A difference is called only where test and interval agree.
func ExampleDiff() {
	before := []float64{93.1, 94.0, 93.7, 92.8, 93.9, 93.4}
	after := []float64{97.0, 96.2, 97.4, 96.8, 97.1, 96.5}
	d := stat.Diff(before, after)
	stat.Family([]*stat.Difference{&d})
	fmt.Printf("%.3f of what it was, p = %.4f, greater: %v\n", d.Ratio.Value, d.Adjusted, d.Sign() == stat.Greater)
	// Output:
	// 1.036 of what it was, p = 0.0022, greater: true
}

// Of many tests one is expected to err by chance, so the level is shared among them.
func ExampleHolm() {
	fmt.Printf("%.3f\n", stat.Holm([]float64{0.01, 0.04, 0.03}))
	// Output:
	// [0.030 0.060 0.060]
}
