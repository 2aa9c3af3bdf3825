// SPDX-License-Identifier: MIT

package compare

import (
	"math"

	"github.com/zcbench/zcbench/results/stat"
)

// RunsToTell estimates how many runs of each would settle a row that has no verdict, as one of so
// many comparisons, if the two differ as they seem to; above 500: more than anyone makes; 0: not
// known. least is how many any verdict takes; 0: boots are lacking, not runs.
func (r *Row) RunsToTell(tests int) (runs, least int) {
	if r.Diff.ByBoots() {
		return 0, 0
	}
	least, _ = stat.RunsFor(tests, 0)
	sd, ok := stat.Scatter(r.runsA, r.runsB)
	if !ok || r.Diff.Ratio == nil || !(r.Diff.Ratio.Value > 0) {
		return 0, least
	}
	runs, _ = stat.RunsAbout(tests, math.Abs(math.Log(r.Diff.Ratio.Value))/sd)
	if r.Reach != nil {
		runs = max(runs, min(r.Diff.NA, r.Diff.NB)+2) // so many did not tell
	}
	return runs, least
}

// SameQuestion reports whether the rows are corrected together.
func (r *Row) SameQuestion(o *Row) bool {
	return r.Metric == o.Metric && r.Factor == o.Factor && r.Exploratory == o.Exploratory
}
