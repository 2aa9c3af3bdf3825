// SPDX-License-Identifier: MIT

package answer

import (
	"fmt"
	"math"

	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

func about(runs, least int) string {
	if runs <= least || runs > mostRuns {
		return ""
	}
	return fmt.Sprintf(", or about %d if the differences are as large as they appear", runs)
}

// mostRuns is how many runs of a cell nobody makes.
const mostRuns = 500

// needs writes how many runs would tell the first from its nearest rival.
func (w *writer) needs(c *compare.Ranking, p places) {
	for _, r := range p.open {
		if !tellable(c, r) || r.Scatter == nil || r.Diff.ByBoots() {
			continue
		}
		s := Sentence{Section: Open, Kind: Needs, Figure: c.Metric.Name, Flows: w.flows,
			Cells: []string{c.First.Cell.ID, r.Cell.Cell.ID}, StandsOn: []Verdict{ofRival(c, r)}}
		apart, runs := math.Abs(1-r.Diff.Ratio.Value), runsFor(c, r) // as in [ofIt], which stands beside it
		looks := fmt.Sprintf("if they differ by %s %%, as it appears (runs vary by %s %%)", percent(100*apart),
			percent(100**r.Scatter))
		if runs > mostRuns {
			s.Command = "zcbench compare --equivalent 2%"
			s.Text = fmt.Sprintf(
				"%s: not even %d runs of each would tell %s from %s, %s. To test whether they are equal: %s.",
				w.brief(c), mostRuns, c.First.Cell.ID, r.Cell.Cell.ID, looks, s.Command)
		} else {
			s.RunsNeeded = runs
			s.Text = fmt.Sprintf("%s: about %d runs of each would tell %s from %s, %s.", w.brief(c), runs,
				c.First.Cell.ID, r.Cell.Cell.ID, looks)
		}
		w.say(s)
		return
	}
}

// wanted returns how many runs would tell the first from the nearest of those it is not told from.
func (w *writer) wanted(c *compare.Ranking, p places) int {
	for _, r := range p.open {
		if heldBy(c, r) == "" && r.Scatter != nil && r.Diff.Ratio != nil && !r.Diff.ByBoots() {
			return runsFor(c, r)
		}
	}
	return 0
}

func runsFor(c *compare.Ranking, r *compare.Rival) int {
	n, _ := stat.RunsAbout(len(c.Rivals), math.Abs(math.Log(r.Diff.Ratio.Value)) / *r.Scatter)
	return max(n, min(r.Diff.NA, r.Diff.NB)+2) // so many did not tell
}
