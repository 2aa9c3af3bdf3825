// SPDX-License-Identifier: MIT

package answer_test

import (
	"math"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/results/plantest"
	"github.com/zcbench/zcbench/results/report"
)

// Two that are 5 % apart are called equal in at most 5 % of reports, told apart or bounded wrongly
// in no more; equal ones are called equal in 80 %, by 12 runs that vary by 1 %.
func TestNear(t *testing.T) {
	rounds := long.Rounds(100, 2000)
	for _, x := range []struct {
		ratio float64
		cv    float64
	}{{1, .01}, {1.05, .01}, {1.05, .02}, {1 / 1.05, .02}, {1, .03}} {
		wrong, equal := 0, 0
		for seed := range rounds {
			cells := []plantest.Cell{noisy(at(made("tcp", "tcp", 0, 1), 20), x.cv),
				noisy(at(made("uring", "tcp", 0, x.ratio), 20), x.cv)}
			s := report.Summarize(plantest.Journal(uint64(seed), 12, cells...))
			for _, f := range s.Answers {
				if f.Figure != "ns_per_kb" {
					continue
				}
				isEqual := math.Abs(x.ratio-1) < .05-1e-3
				if f.Verdict == "equal" {
					equal++
				}
				if f.Verdict == "equal" && !isEqual || x.ratio == 1 &&
					(f.Verdict == "cheaper" || f.Verdict == "costlier") ||
					x.ratio > 1 && f.Verdict == "cheaper" || x.ratio < 1 && f.Verdict == "costlier" ||
					f.Verdict == "open" && f.Low != nil && (*f.Low > x.ratio || *f.High < x.ratio) {
					wrong++
				}
			}
		}
		t.Logf("ratio %.3f, CV %.0f %%: %d of %d wrong, %d equal", x.ratio, 100*x.cv, wrong, rounds, equal)
		if float64(wrong) > .05*float64(rounds)+3*math.Sqrt(.05*.95*float64(rounds)) {
			t.Errorf("ratio %.3f, CV %.0f %%: %d of %d reports say what is not so", x.ratio, 100*x.cv, wrong, rounds)
		}
		if x.ratio == 1 && x.cv == .01 && float64(equal) < .8*float64(rounds) {
			t.Errorf("equal ones are called so in %d of %d", equal, rounds)
		}
	}
}
