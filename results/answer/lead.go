// SPDX-License-Identifier: MIT

package answer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

// rankings writes which cell leads by each figure. By the first it does so even if there is nothing
// to compare with.
func (w *writer) rankings() {
	w.told, w.level = map[[3]string]bool{}, map[[3]string]bool{}
	w.a.Baseline = w.base()
	groups := groupsOf(w.Set.Candidates())
	rankings := Rankings(w.Set, w.Figures)
	first := make([]bool, len(groups)) // told
	for _, names := range w.Figures {
		for i, cells := range groups {
			if !fits(&cells[0].Cell, names[0]) || first[i] && len(groups) > mostGroups {
				continue
			}
			w.about, w.flows = apart(groups, i)
			if c := w.best(cells, names); c != nil && (len(c.Rivals)+len(c.Short) > 0 || !first[i] &&
				len(groups) == 1) {
				w.Compared.Rank(c, rankings)
				w.ranking(c)
			}
			first[i] = true
		}
	}
	w.alone(groups)
}

// Rankings counts the rankings of a set by some figures, of each the first name that was measured:
// they share what comparisons leave of the level. One more is the orders of cells by other returns.
func Rankings(set *compare.Set, figures [][]string) (n int) {
	for _, cells := range groupsOf(set.Candidates()) {
		for _, names := range figures {
			if len(cells) > 1 && fits(&cells[0].Cell, names[0]) && measured(cells, names) {
				n++
			}
		}
	}
	return n + 1
}

func measured(cells []*compare.Cell, names []string) bool {
	of, err := compare.Lookup(names)
	return err == nil && slices.ContainsFunc(of, func(m compare.Metric) bool {
		return slices.ContainsFunc(cells, func(c *compare.Cell) bool { return figuresOf(m, c.Runs) != nil })
	})
}

// alone writes what was measured if no cell can be ranked and just one has runs: to measure one
// rung of a ladder, or a control, is to ask for its figure.
func (w *writer) alone(groups [][]*compare.Cell) {
	var with []*compare.Cell
	for i := range w.Set.Cells {
		if c := &w.Set.Cells[i]; len(c.Runs) > 0 && !c.Runs[0].Calibrates() {
			with = append(with, c)
		}
	}
	if len(groups) > 0 || len(with) != 1 {
		return
	}
	c := with[0]
	for _, name := range slices.Concat(w.Figures...) {
		m, err := compare.Lookup([]string{name})
		if err != nil || !fits(&c.Cell, name) {
			continue
		}
		if sum := stat.Summarize(figuresOf(m[0], c.Runs)); sum != nil {
			w.say(Sentence{Section: Shown, Kind: Alone, Figure: name, Cells: []string{c.Cell.ID},
				StandsOn: []verdict{w.ofCell(c, name)},
				Text: fmt.Sprintf("%s: %s by %s, which is not ranked: %s%s.", head(name), figure(sum, m[0]), c.Cell.ID,
					outside(c), w.heldUp(c))})
			return
		}
	}
}

// heldUp names what, other than the receiver, kept most runs from being faster; "": nothing.
func (w *writer) heldUp(c *compare.Cell) string {
	if by := c.Held(); by != "" {
		return "; it was " + compare.AtLimit(by)
	}
	return ""
}

// mostGroups is of how many groups of cells more than the first figure is told.
const mostGroups = 3

// best holds the ranking by the first of some figures that was measured.
func (w *writer) best(cells []*compare.Cell, names []string) *compare.Ranking {
	for _, name := range names {
		m, err := compare.Lookup([]string{name})
		if err != nil {
			continue
		}
		if c := compare.Best(cells, m[0], w.Set.Between); c != nil {
			return c
		}
	}
	return nil
}

// head names the figure of a ranking, and the cells among which it is.
func (w *writer) head(c *compare.Ranking) string { return head(c.Metric.Name) + w.among() }

func (w *writer) brief(c *compare.Ranking) string { return brief(c.Metric.Name) + w.among() }

func (w *writer) among() (text string) {
	if w.about != "" {
		text = ", " + w.about
	}
	if w.flows > 0 {
		text += ", " + plural(w.flows, "flow")
	}
	return text
}

// base returns the id of the cell that others are compared with: that of the comparisons, or else
// of the plan, or else the first that has runs; "": there is none.
func (w *writer) base() string {
	switch {
	case w.Compared != nil:
		return w.Compared.NameA
	case w.Set.Base != nil:
		return w.Set.Base.ID
	}
	for i := range w.Set.Cells {
		if c := &w.Set.Cells[i]; len(c.Runs) > 0 {
			return c.Cell.ID
		}
	}
	return ""
}

// places sorts the rivals of a ranking.
type places struct {
	lower    []*compare.Rival // beyond doubt, and nothing else is known that may be why
	unranked []*compare.Rival // beyond doubt lower, and something else may be why
	open     []*compare.Rival // not told apart from the first
}

func placesOf(c *compare.Ranking) (p places) {
	for i := range c.Rivals {
		switch r := &c.Rivals[i]; {
		case !c.Below(r):
			p.open = append(p.open, r)
		case r.Why() != "":
			p.unranked = append(p.unranked, r)
		default:
			p.lower = append(p.lower, r)
		}
	}
	return p
}

func (w *writer) ranking(c *compare.Ranking) {
	p := placesOf(c)
	s := Sentence{Section: Shown, Figure: c.Metric.Name, Flows: w.flows, Cells: []string{c.First.Cell.ID}}
	if len(c.Rivals) == 0 {
		s.StandsOn = []verdict{w.ofCell(c.First, c.Metric.Name)}
	}
	for i := range c.Rivals {
		s.StandsOn = append(s.StandsOn, ofRival(c, &c.Rivals[i]))
	}
	for _, x := range c.Short {
		s.StandsOn = append(s.StandsOn, w.ofCell(x.Cell, c.Metric.Name))
	}
	for _, r := range p.open {
		w.level[[3]string{r.Cell.Cell.ID, c.First.Cell.ID, c.Metric.Name}] = true
	}
	switch {
	case len(c.Rivals) == 0:
		s.Kind = Alone
		s.Text = fmt.Sprintf("%s: %s by %s. %s", w.head(c), figure(c.Sum, c.Metric), c.First.Cell.ID, w.others(c))
	case len(p.open) > 0 && !slices.ContainsFunc(p.open, func(r *compare.Rival) bool { return tellable(c, r) }):
		if len(p.lower) == 0 {
			w.few(c, p, s)
			return
		}
		s.Kind = Ahead
		s.Text = w.lead(c, p.lower, "is ahead of "+plural(len(p.lower), "cell")+" with ") +
			". No verdict against " + lacks(c, p.open) + "." + unranked(p) + short(c)
	case len(p.open) > 0:
		w.tied(c, p, s)
		return
	case len(p.lower) == 0:
		s.Kind, s.Cells = Unranked, append(s.Cells, idsOf(p.unranked)...)
		s.Text = fmt.Sprintf("%s: %s is the highest, %s, but may not be the best: something else may explain why "+
			"the others are lower: %s.",
			w.head(c), c.First.Cell.ID, best(c), whys(p.unranked)) + short(c)
	case len(p.unranked)+len(c.Short) > 0:
		s.Kind = Ahead
		s.Text = w.lead(c, p.lower, "is ahead of "+plural(len(p.lower), "cell")+" with ") + "." + unranked(p) + short(c)
	default:
		s.Kind = Leads
		s.Text = w.lead(c, p.lower, "leads with ") + "."
	}
	s.Text += w.outdone(c)
	w.say(s)
}

// tellable reports whether a comparison could have come out otherwise than "cannot tell".
func tellable(c *compare.Ranking, r *compare.Rival) bool {
	return r.Diff.Testable() && r.Reach.Attainable() && heldBy(c, r) == ""
}

// lead puts in words by how much the first is ahead of the next and of the baseline.
func (w *writer) lead(c *compare.Ranking, lower []*compare.Rival, verb string) string {
	first, base := c.First.Cell.ID, w.a.Baseline
	text := fmt.Sprintf("%s: %s %s%s", w.head(c), first, verb, best(c))
	name := func(r *compare.Rival, what string) string {
		w.told[[3]string{r.Cell.Cell.ID, first, c.Metric.Name}] = true
		return byHowMuch(invert(c.Told(r)), what+r.Cell.Cell.ID)
	}
	var caveats []string
	next, the := lower[0], "the next"
	if next != &c.Rivals[0] || len(c.Short) > 0 {
		the = "the next ranked cell"
	}
	caveats = append(caveats, next.Caveats...)
	atLeast := next.Standing.AboveLimit
	switch {
	case next.Cell.Cell.ID == base:
		text += ": " + name(next, the+" and baseline, ")
	case first == base:
		text += ", and is the baseline: " + name(next, the+", ")
	default:
		text += ": " + name(next, the+", ")
		if i := slices.IndexFunc(lower, func(r *compare.Rival) bool { return r.Cell.Cell.ID == base }); i > 0 {
			text += ", and " + name(lower[i], "the baseline, ")
			caveats = append(caveats, lower[i].Caveats...)
			if atLeast == "" {
				atLeast = lower[i].Standing.AboveLimit
			}
		}
	}
	if atLeast != "" {
		caveats = append(caveats, first+" was "+compare.AtLimit(atLeast)+": at least this much")
	}
	return text + inBrackets(caveats)
}

// tied writes that the best cannot be told apart, and what would tell them apart.
func (w *writer) tied(c *compare.Ranking, p places, s Sentence) {
	s.Kind, s.Cells = tied, append(s.Cells, idsOf(p.open)...)
	var names []string
	for _, r := range p.open {
		text := r.Cell.Cell.ID
		switch why := r.Why(); {
		case why != "":
			text += " (" + why + ")"
		case r.Standing.AboveLimit != "" || !r.Diff.Testable():
		default:
			text += ofIt(c.Told(r))
		}
		names = append(names, text)
	}
	s.Text = fmt.Sprintf("%s: no clear leader. %s has the highest median, %s; %s cannot be told apart from it, "+
		"which does not mean equal.",
		w.head(c), c.First.Cell.ID, best(c), few(names))
	if n := len(p.lower); n > 0 {
		s.Text += fmt.Sprintf(" %s %s lower beyond doubt.", plural(n, "other"),
			map[bool]string{true: "is", false: "are"}[n == 1])
	}
	s.Text += unranked(p) + short(c) + w.outdone(c)
	w.say(s)
	w.needs(c, p)
}

func idsOf(rivals []*compare.Rival) (ids []string) {
	for _, r := range rivals {
		ids = append(ids, r.Cell.Cell.ID)
	}
	return ids
}

func upper(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
