// SPDX-License-Identifier: MIT

package answer

import (
	"fmt"
	"time"

	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

// effect returns how large a difference matters.
func (w *writer) effect() float64 { return w.Compared.Effect() }

// matters formats how large a difference matters.
func (w *writer) matters() string { return fmt.Sprintf("%g %%", 100*w.effect()) }

func (w *writer) orAbout(runs, least int) string {
	if runs <= least || runs > mostRuns {
		return ""
	}
	return fmt.Sprintf(", and about %d to find a difference of %s", runs, w.matters())
}

// above formats which differences there are not.
func above(share float64) string {
	return fmt.Sprintf("differences above %s %% are excluded", percent(100*share))
}

// lasting formats how long runs of so many cells take; "": it is not known.
func lasting(took time.Duration, cells int) string {
	switch {
	case took <= 0:
		return ""
	case took < 2*time.Hour:
		return fmt.Sprintf(" (%d min for these %d cells)", max(1, int(took.Round(time.Minute).Minutes())), cells)
	}
	return fmt.Sprintf(" (%.0f h for these %d cells)", took.Hours(), cells)
}

// mostRuns is how many runs of a cell nobody makes.
const mostRuns = 500

// needs writes which difference of the first from its nearest rival is left out, and how many runs
// would find one that matters. How far apart the two seem to be has no part in that: of two that
// are told from each other in no experiment, that is chance.
func (w *writer) needs(c *compare.Ranking, p places) {
	for _, r := range p.open {
		share, ok := c.Excludes(r)
		if !tellable(c, r) || r.Spread == nil || r.Diff.ByBoots() || !ok {
			continue
		}
		s := Sentence{Section: Open, Kind: Needs, Figure: c.Metric.Name, Flows: w.flows,
			Cells: []string{c.First.Cell.ID, r.Cell.Cell.ID}, StandsOn: []verdict{ofRival(c, r)}}
		s.Text = fmt.Sprintf("%s, %s beside %s: %s", w.brief(c), r.Cell.Cell.ID, c.First.Cell.ID,
			above(share))
		runs := w.wanted(c, p)
		took, cells := c.HowLong(runs)
		switch vary := fmt.Sprintf("runs vary by %s %%, or up to %s %%", percent(100*r.Spread.SD),
			percent(100*r.Spread.Most())); {
		case share < w.effect():
			s.Text += "."
		case runs > mostRuns:
			s.Command = fmt.Sprintf("zcbench compare --equivalent %g%%", 200*w.effect())
			s.Text += fmt.Sprintf(". Not even %d runs of each would find one of %s (%s). To ask for a larger one: %s.",
				mostRuns, w.matters(), vary, s.Command)
		default:
			s.RunsNeeded = runs
			s.Text += fmt.Sprintf(
				". A new plan that finds one of %s in 8 of 10 cases takes about %d runs of each%s: %s.",
				w.matters(), runs, lasting(took, cells), vary)
		}
		w.say(s)
		return
	}
}

// wanted returns how many runs would find a difference that matters between the first and the
// nearest of those it is not told from.
func (w *writer) wanted(c *compare.Ranking, p places) int {
	for _, r := range p.open {
		if heldBy(c, r) == "" && r.Spread != nil && r.Diff.Ratio != nil && !r.Diff.ByBoots() {
			n, _ := stat.RunsToFind(len(c.Rivals), w.effect(), *r.Spread)
			return n
		}
	}
	return 0
}
