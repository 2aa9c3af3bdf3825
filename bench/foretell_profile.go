// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/profile/perf"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
	"github.com/zcbench/zcbench/results/why"
)

// A class with so much of the time is to be known to so much of itself.
const (
	smallClass = .05
	knownTo    = .1
)

// mostParts is about how many classes and counters two cells have.
const mostParts = 30

// foretellProfile warns of what profiles of a plan's runs will be too few for: to name what makes
// the difference between two cells, and to know a small class.
func foretellProfile(s *matrix.Spec, window time.Duration, missing func(plan.Cell) *Missing, say func(string)) {
	profiled := func(c *plan.Cell) bool { return missing(*c) == nil && slices.Contains(c.Probes(), "profile") }
	first := slices.IndexFunc(s.Cells, func(c plan.Cell) bool { return profiled(&c) })
	if first < 0 {
		return
	}
	runs, base := leastRuns(s), s.Cells[first]
	if s.Base != nil {
		base = *s.Base
	}
	pairs := compare.Contrasts(s.Cells, base, asked(s), func(i int) bool { return profiled(&s.Cells[i]) })
	if slices.ContainsFunc(pairs, func(p compare.Pair) bool { return p.Factor != "" }) {
		switch tests := stat.MaxTests(runs); {
		case runs < stat.MinRuns:
			say(
				warns + fmt.Sprintf("compare --why: with %s of each cell nothing can be told apart; make %d, "+
					"better %d (repetitions)", counted(runs, "run", "runs"), stat.MinRuns, why.GoodRuns))
		case s.TurnLength() > 0 && runs >= why.GoodRuns && runs < stat.StartsFor(mostParts):
			say(warns + fmt.Sprintf("compare --why: %d starts can tell some %d classes and counters apart only within "+
				"pairs of starts, so that what starts differ by hides small differences; %d can within starts "+
				"(repetitions)", runs, mostParts, stat.StartsFor(mostParts)))
		case runs < why.GoodRuns:
			say(warns + fmt.Sprintf("compare --why: %d runs of each cell can tell %d classes and counters apart, "+
				"of some %d that there are; %d runs can tell all (repetitions)", runs, tests, mostParts, why.GoodRuns))
		}
	}
	samples := window.Seconds() * perf.DefaultHz * float64(runs)
	if known := 1 / math.Sqrt(smallClass*samples); known > knownTo {
		enough := time.Duration(1 / (smallClass * knownTo * knownTo) / perf.DefaultHz / float64(runs) * 1e9)
		say(warns + fmt.Sprintf("profiles: %s of %v have some %.0f samples of a CPU that is always busy: a class "+
			"with %.0f %% of the time is known to %.0f %% of itself; windows of %v make it %.0f %% (duration)",
			counted(runs, "run", "runs"), window, samples, 100*smallClass, 100*known, rounded(enough), 100*knownTo))
	}
}
