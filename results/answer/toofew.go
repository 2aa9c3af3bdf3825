// SPDX-License-Identifier: MIT

package answer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

// few writes that there is no verdict: there are too few runs, or boots, or something other than
// the cells is the cause.
func (w *writer) few(c *compare.Ranking, p places, s Sentence) {
	s.Section, s.Cells = Open, append(s.Cells, idsOf(p.open)...)
	i := slices.IndexFunc(p.open, func(r *compare.Rival) bool { return heldBy(c, r) == "" })
	if i < 0 {
		var names []string
		for _, r := range p.open {
			names = append(names, r.Cell.Cell.ID+" ("+heldBy(c, r)+")")
		}
		s.Kind = Limited
		s.Text = fmt.Sprintf("%s: no clear leader. %s has the highest median, %s, but cannot be told apart from "+
			"%s. More runs would not help.",
			w.head(c), c.First.Cell.ID, best(c), few(names)) + unranked(p) + short(c) + w.outdone(c)
		w.say(s)
		return
	}
	r := p.open[i]
	s.Kind = Few
	s.Text = fmt.Sprintf("%s: no verdict on which cell leads. %s has the highest median, %s, which may be chance.",
		w.head(c), c.First.Cell.ID, best(c))
	least, _ := stat.RunsFor(len(c.Rivals), 0)
	switch lacking := tooFewRuns(c, least); {
	case lacking != "" && r.Diff.Level != stat.TooFewBoots:
		s.RunsNeeded = max(least, w.wanted(c, p))
		s.Text += fmt.Sprintf(" %s too few: telling %d cells apart takes at least %d of each%s.", lacking,
			len(c.Rivals)+1, least, w.orAbout(s.RunsNeeded, least))
		if s.RunsNeeded > mostRuns {
			s.RunsNeeded = least
		}
	case len(r.Diff.Warnings) > 0:
		s.Text += " " + upper(strings.Join(r.Diff.Warnings, "; ")) + "."
	case !r.Reach.Attainable():
		s.Text += fmt.Sprintf(" %s, in %s, could not give a verdict whatever they measured: p is at least %.2g.",
			sample(r), plural(r.Reach.Tests, "comparison"), r.Reach.LeastP)
	}
	s.Text += unranked(p) + short(c) + w.outdone(c)
	w.say(s)
}

// sample describes by what a rival and the first are compared.
func sample(r *compare.Rival) string {
	switch d := &r.Diff; {
	case d.Level == stat.AcrossBoots && d.Pairs > 0:
		return "Runs of " + plural(d.Pairs, "boot")
	case d.Level == stat.AcrossBoots:
		return fmt.Sprintf("Runs of %d and %d boots", d.BootsB, d.BootsA)
	case d.Pairs > 0:
		return plural(d.Pairs, "block")
	}
	return fmt.Sprintf("%d and %d runs", r.Diff.NB, r.Diff.NA)
}

// tooFewRuns lists the cells of a ranking that have fewer runs than any verdict takes; "": none
// has.
func tooFewRuns(c *compare.Ranking, least int) string {
	counts, lacking := []int{c.Sum.N}, []string(nil)
	add := func(id string, n int) {
		if n < least {
			lacking = append(lacking, fmt.Sprintf("%s (%s)", id, plural(n, "run")))
		}
	}
	add(c.First.Cell.ID, c.Sum.N)
	for i := range c.Rivals {
		r := &c.Rivals[i]
		counts = append(counts, r.Sum.N)
		add(r.Cell.Cell.ID, r.Sum.N)
	}
	switch {
	case lacking == nil:
		return ""
	case slices.Min(counts) == slices.Max(counts) && counts[0] == 1:
		return "1 run of each is"
	case slices.Min(counts) == slices.Max(counts):
		return fmt.Sprintf("%d runs of each are", counts[0])
	case len(lacking) == 1:
		return lacking[0] + " has"
	}
	return few(lacking) + " have"
}

// short names the cells that have too few runs for a place.
func short(c *compare.Ranking) string {
	if len(c.Short) == 0 {
		return ""
	}
	return fmt.Sprintf(" Left out, because a verdict takes %d runs: %s.", stat.MinRuns, shorts(c))
}

func shorts(c *compare.Ranking) string {
	var out []string
	for _, x := range c.Short {
		out = append(out, fmt.Sprintf("%s (%s)", x.Cell.Cell.ID, plural(x.Sum.N, "run")))
	}
	return few(out)
}

// others explains why there is nothing to compare a cell with.
func (w *writer) others(c *compare.Ranking) string {
	if len(c.Short) > 0 {
		return fmt.Sprintf("There is nothing to compare it with: a verdict takes %d runs. Too few: %s.", stat.MinRuns,
			shorts(c))
	}
	var out []string
	for i := range w.Set.Cells {
		if x := &w.Set.Cells[i]; len(x.Runs) > 0 && x.Cell.ID != c.First.Cell.ID {
			out = append(out, x.Cell.ID+" ("+outside(x)+")")
		}
	}
	if out == nil {
		return "No other cell has runs that count, so there is nothing to compare it with."
	}
	return "No other cell can be ranked against it: " + few(out) + "."
}

// outside explains why a cell that has runs is in no ranking with others.
func outside(c *compare.Cell) string {
	switch {
	case c.Source != "":
		return "published"
	case c.Cell.Control != "":
		return "a control"
	case c.Paced() || c.Cell.RRRate > 0:
		return "paced"
	case kindOfFlow(&c.Cell) == stream.Frame:
		return "frames, which no application receives"
	case c.Discards():
		return "its application never gets the payload"
	}
	return "the figure was not measured"
}
