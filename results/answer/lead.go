// SPDX-License-Identifier: MIT

package answer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

// contests says of each figure which cell leads. Of the first it says so even where there is
// nothing to compare with.
func (w *writer) contests() {
	w.told, w.level = map[[3]string]bool{}, map[[3]string]bool{}
	w.a.Baseline = w.base()
	groups := groupsOf(w.Set.Contestants())
	first := make([]bool, len(groups)) // told
	for _, names := range w.Figures {
		for i, cells := range groups {
			if !fits(&cells[0].Cell, names[0]) || first[i] && len(groups) > mostGroups {
				continue
			}
			w.about, w.flows = apart(groups, i)
			if c := w.best(cells, names); c != nil && (len(c.Rivals)+len(c.Short) > 0 || !first[i] && len(groups) == 1) {
				w.contest(c)
			}
			first[i] = true
		}
	}
}

// mostGroups is of how many groups of cells more than the first figure is told.
const mostGroups = 3

// best is the contest by the first of some figures that was measured.
func (w *writer) best(cells []*compare.Cell, names []string) *compare.Contest {
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

// head is what a contest is by, and among which cells.
func (w *writer) head(c *compare.Contest) string { return head(c.Metric.Name) + w.among() }

func (w *writer) brief(c *compare.Contest) string { return brief(c.Metric.Name) + w.among() }

func (w *writer) among() (text string) {
	if w.about != "" {
		text = ", " + w.about
	}
	if w.flows > 0 {
		text += ", " + plural(w.flows, "flow")
	}
	return text
}

// base is the id of the cell that others are compared with: that of the comparisons, or else of the
// plan, or the first that has runs; "": there is none.
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

// places sorts the rivals of a contest.
type places struct {
	lower    []*compare.Rival // beyond doubt, and nothing else is known that may be why
	unranked []*compare.Rival // beyond doubt lower, and something else may be why
	open     []*compare.Rival // not told apart from the first
}

func placesOf(c *compare.Contest) (p places) {
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

func (w *writer) contest(c *compare.Contest) {
	p := placesOf(c)
	s := Sentence{Section: Shown, Figure: c.Metric.Name, Flows: w.flows, Cells: []string{c.First.Cell.ID}}
	if len(c.Rivals) == 0 {
		s.StandsOn = []Verdict{w.ofCell(c.First, c.Metric.Name)}
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
		s.Text = w.lead(c, p.lower, "is ahead of "+plural(len(p.lower), "cell")+" with ") + ". Not told from it: " + lacks(c, p.open) + "." + unranked(p) + short(c)
	case len(p.open) > 0:
		w.tied(c, p, s)
		return
	case len(p.lower) == 0:
		s.Kind, s.Cells = Unranked, append(s.Cells, idsOf(p.unranked)...)
		s.Text = fmt.Sprintf("%s: %s is the highest, %s, but nobody can tell that it is the best: something else may be why the others are lower, %s.",
			w.head(c), c.First.Cell.ID, figure(c.Sum, c.Metric), whys(p.unranked)) + short(c)
	case len(p.unranked)+len(c.Short) > 0:
		s.Kind = Ahead
		s.Text = w.lead(c, p.lower, "is ahead of "+plural(len(p.lower), "cell")+" with ") + "." + unranked(p) + short(c)
	default:
		s.Kind = Leads
		s.Text = w.lead(c, p.lower, "leads with ") + "."
	}
	w.say(s)
}

// tellable tells whether a comparison could have come out otherwise than "cannot tell".
func tellable(c *compare.Contest, r *compare.Rival) bool {
	return r.Diff.Testable() && r.Reach.Attainable() && heldBy(c, r) == ""
}

// lead says by how much the first is ahead of the next and of the baseline.
func (w *writer) lead(c *compare.Contest, lower []*compare.Rival, verb string) string {
	first, base := c.First.Cell.ID, w.a.Baseline
	text := fmt.Sprintf("%s: %s %s%s", w.head(c), first, verb, figure(c.Sum, c.Metric))
	name := func(r *compare.Rival, what string) string {
		w.told[[3]string{r.Cell.Cell.ID, first, c.Metric.Name}] = true
		return byHowMuch(invert(r.Diff.Ratio), what+r.Cell.Cell.ID)
	}
	var caveats []string
	next, the := lower[0], "the next"
	if next != &c.Rivals[0] || len(c.Short) > 0 {
		the = "the next that can be ranked"
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
		caveats = append(caveats, first+" was "+compare.AtLimit(atLeast)+": by so much at the least")
	}
	return text + inBrackets(caveats)
}

// tied says that the best cannot be told apart, and what would tell them.
func (w *writer) tied(c *compare.Contest, p places, s Sentence) {
	s.Kind, s.Cells = Tied, append(s.Cells, idsOf(p.open)...)
	var names []string
	for _, r := range p.open {
		text := r.Cell.Cell.ID
		switch why := r.Why(); {
		case why != "":
			text += " (" + why + ")"
		case r.Standing.AboveLimit != "" || !r.Diff.Testable():
		default:
			text += ofIt(r.Diff.Ratio)
		}
		names = append(names, text)
	}
	s.Text = fmt.Sprintf("%s: none leads. %s has the highest median, %s; %s cannot be told from it, which does not mean equal.",
		w.head(c), c.First.Cell.ID, figure(c.Sum, c.Metric), few(names))
	if n := len(p.lower); n > 0 {
		s.Text += fmt.Sprintf(" %s %s lower beyond doubt.", plural(n, "other"), map[bool]string{true: "is", false: "are"}[n == 1])
	}
	s.Text += unranked(p) + short(c)
	w.say(s)
	w.needs(c, p)
}

// few says that nothing can be told: there are too few runs, or boots, or something else than the
// cells is why.
func (w *writer) few(c *compare.Contest, p places, s Sentence) {
	s.Section, s.Cells = Open, append(s.Cells, idsOf(p.open)...)
	i := slices.IndexFunc(p.open, func(r *compare.Rival) bool { return heldBy(c, r) == "" })
	if i < 0 {
		var names []string
		for _, r := range p.open {
			names = append(names, r.Cell.Cell.ID+" ("+heldBy(c, r)+")")
		}
		s.Kind = Limited
		s.Text = fmt.Sprintf("%s: none leads. %s has the highest median, %s, and cannot be told from %s. More runs would not tell.",
			w.head(c), c.First.Cell.ID, figure(c.Sum, c.Metric), few(names)) + unranked(p) + short(c)
		w.say(s)
		return
	}
	r := p.open[i]
	s.Kind = Few
	s.Text = fmt.Sprintf("%s: nobody can tell which cell leads. The highest median is that of %s, %s, be it by chance.", w.head(c), c.First.Cell.ID, figure(c.Sum, c.Metric))
	least, _ := stat.RunsFor(len(c.Rivals), 0)
	switch lacking := tooFewRuns(c, least); {
	case lacking != "" && r.Diff.Level != stat.TooFewBoots:
		s.RunsNeeded = max(least, w.wanted(c, p))
		s.Text += fmt.Sprintf(" %s too few: to tell %d cells apart takes %d of each at least%s.", lacking, len(c.Rivals)+1, least, about(s.RunsNeeded, least))
		if s.RunsNeeded > mostRuns {
			s.RunsNeeded = least
		}
	case len(r.Diff.Warnings) > 0:
		s.Text += " " + upper(strings.Join(r.Diff.Warnings, "; ")) + "."
	case !r.Reach.Attainable():
		s.Text += fmt.Sprintf(" %s, in %s, could not tell whatever they measured: p is %.2g at the least.", sample(r), plural(r.Reach.Tests, "comparison"), r.Reach.LeastP)
	}
	s.Text += unranked(p) + short(c)
	w.say(s)
}

// sample is what a rival and the first are compared by.
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

// tooFewRuns says which cells of a contest have fewer runs than any verdict takes; "": none has.
func tooFewRuns(c *compare.Contest, least int) string {
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
func short(c *compare.Contest) string {
	if len(c.Short) == 0 {
		return ""
	}
	return fmt.Sprintf(" Not in it, for a verdict takes %d runs: %s.", stat.MinRuns, shorts(c))
}

func shorts(c *compare.Contest) string {
	var out []string
	for _, x := range c.Short {
		out = append(out, fmt.Sprintf("%s (%s)", x.Cell.Cell.ID, plural(x.Sum.N, "run")))
	}
	return few(out)
}

// others says why there is nothing to compare a cell with.
func (w *writer) others(c *compare.Contest) string {
	if len(c.Short) > 0 {
		return fmt.Sprintf("There is nothing to compare it with: a verdict takes %d runs, and %s.", stat.MinRuns, shorts(c))
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
	return "No other cell can be ranked with it: " + few(out) + "."
}

// outside is why a cell that has runs is in no contest with others.
func outside(c *compare.Cell) string {
	switch {
	case c.Source != "":
		return "published"
	case c.Cell.Control != "":
		return "a control"
	case c.Paced() || c.Cell.RRRate > 0:
		return "paced"
	case kindOfFlow(&c.Cell) == stream.Frame:
		return "a step of a ladder"
	case c.Discards():
		return "its application never gets the payload"
	}
	return "the figure was not measured"
}

// heldBy is what else than the two cells is why nobody can tell them apart; "": nothing is known
// of.
func heldBy(c *compare.Contest, r *compare.Rival) string {
	if why := r.Why(); why != "" {
		return why
	}
	if l := r.Standing.AboveLimit; l != "" {
		return c.First.Cell.ID + " was " + compare.AtLimit(l)
	}
	return ""
}

func about(runs, least int) string {
	if runs <= least || runs > mostRuns {
		return ""
	}
	return fmt.Sprintf(", and about %d if the differences are as large as they look", runs)
}

// mostRuns is how many runs of a cell nobody makes.
const mostRuns = 500

// needs says how many runs would tell the first from the one that is nearest to it.
func (w *writer) needs(c *compare.Contest, p places) {
	for _, r := range p.open {
		if !tellable(c, r) || r.Scatter == nil || r.Diff.ByBoots() {
			continue
		}
		s := Sentence{Section: Open, Kind: Needs, Figure: c.Metric.Name, Flows: w.flows, Cells: []string{c.First.Cell.ID, r.Cell.Cell.ID}, StandsOn: []Verdict{ofRival(c, r)}}
		apart, runs := math.Abs(math.Log(r.Diff.Ratio.Value)), runsFor(c, r)
		looks := fmt.Sprintf("if they are %s %% apart as they look (runs vary by %s %%)", percent(100*apart), percent(100**r.Scatter))
		if runs > mostRuns {
			s.Command = "zcbench compare --equivalent 2%"
			s.Text = fmt.Sprintf("%s: not even %d runs of each would tell %s from %s, %s. Whether they are equal is what %s asks.", w.brief(c), mostRuns, c.First.Cell.ID, r.Cell.Cell.ID, looks, s.Command)
		} else {
			s.RunsNeeded = runs
			s.Text = fmt.Sprintf("%s: about %d runs of each would tell %s from %s, %s.", w.brief(c), runs, c.First.Cell.ID, r.Cell.Cell.ID, looks)
		}
		w.say(s)
		return
	}
}

// wanted is how many runs would tell the first from the nearest of those it is not told from.
func (w *writer) wanted(c *compare.Contest, p places) int {
	for _, r := range p.open {
		if heldBy(c, r) == "" && r.Scatter != nil && r.Diff.Ratio != nil && !r.Diff.ByBoots() {
			return runsFor(c, r)
		}
	}
	return 0
}

func runsFor(c *compare.Contest, r *compare.Rival) int {
	n, _ := stat.RunsAbout(len(c.Rivals), math.Abs(math.Log(r.Diff.Ratio.Value)) / *r.Scatter)
	return max(n, min(r.Diff.NA, r.Diff.NB)+2) // so many did not tell
}

// discarded says which cells had no part in it.
func (w *writer) discarded() {
	var ids []string
	var on []Verdict
	for i := range w.Set.Cells {
		if c := &w.Set.Cells[i]; len(c.Runs) > 0 && c.Discards() && kindOfFlow(&c.Cell) != stream.Frame {
			ids = append(ids, c.Cell.ID)
			on = append(on, w.ofCell(c, ""))
		}
	}
	w.bounds = setOf(ids)
	if ids != nil {
		w.say(Sentence{Section: Open, Kind: Unranked, Cells: ids, StandsOn: on,
			Text: fmt.Sprintf("Not among those that can lead: %s, whose application never gets the payload: a bound, and no way to receive.", few(ids))})
	}
}

// limits says of which cells the throughput says nothing of the receiver.
func (w *writer) limits() {
	by := map[results.LimitedBy][]*compare.Cell{}
	for _, c := range w.Set.Contestants() {
		if l := c.Held(); l != "" {
			by[l] = append(by[l], c)
		}
	}
	for _, l := range results.LimitedBys {
		if by[l] == nil {
			continue
		}
		s := Sentence{Section: Open, Kind: Limited}
		for _, c := range by[l] {
			s.Cells = append(s.Cells, c.Cell.ID)
			v := w.ofCell(c, "throughput_gbps")
			v.Verdict = compare.AtLimit(l)
			s.StandsOn = append(s.StandsOn, v)
		}
		whose := "they"
		if len(s.Cells) == 1 {
			whose = "it"
		}
		s.Text = fmt.Sprintf("%s: %s. How fast %s could receive was not measured: throughput says nothing of the receiver here. %s", upper(compare.AtLimit(l)), few(s.Cells), whose, lift[l])
		w.say(s)
	}
}

// lift is what takes a limit away.
var lift = map[results.LimitedBy]string{
	results.BySender: "It takes a faster sender, or a comparison of costs at one pace (--pace).",
	results.ByWindow: "It takes larger buffers (--rcvbuf, --sndbuf), or a comparison of costs at one pace (--pace).",
	results.ByLink:   "It takes a faster link, or a comparison of costs at one pace (--pace).",
}

// ofCell is the verdict of a cell's runs.
func (w *writer) ofCell(c *compare.Cell, figure string) Verdict {
	v := Verdict{Cell: c.Cell.ID, Figure: figure, Verdict: plural(len(c.Runs), "run") + " ok", Runs: fmt.Sprint(len(c.Runs))}
	if c.Other > 0 {
		v.Verdict += fmt.Sprintf(", %d not", c.Other)
	}
	return v
}

// ofRival is what was found out about a rival beside the first.
func ofRival(c *compare.Contest, r *compare.Rival) Verdict {
	v := Verdict{Cell: r.Cell.Cell.ID, Beside: c.First.Cell.ID, Figure: c.Metric.Name, Ratio: r.Diff.Ratio, Runs: fmt.Sprintf("%d+%d", r.Diff.NB, r.Diff.NA)}
	switch {
	case c.Below(r) && r.Why() == "":
		v.Verdict = "lower"
		if !c.Metric.HigherWins {
			v.Verdict = "higher"
		}
	case len(r.Diff.Warnings) > 0:
		v.Verdict = "cannot tell (" + strings.Join(r.Diff.Warnings, "; ") + ")"
	case r.Why() != "":
		v.Verdict = "cannot tell (" + r.Why() + ")"
	case !r.Reach.Attainable():
		v.Verdict = fmt.Sprintf("cannot tell (p of %d runs in %d comparisons is %.2g at the least)", r.Reach.Runs, r.Reach.Tests, r.Reach.LeastP)
	default:
		v.Verdict = "cannot tell"
	}
	if r.Diff.Testable() {
		v.Adjusted = &r.Diff.Adjusted
	}
	return v
}

func idsOf(rivals []*compare.Rival) (ids []string) {
	for _, r := range rivals {
		ids = append(ids, r.Cell.Cell.ID)
	}
	return ids
}

// lacks names rivals with what is lacking to tell them from the first.
func lacks(c *compare.Contest, rivals []*compare.Rival) string {
	var out []string
	for _, r := range rivals {
		why := heldBy(c, r)
		if why == "" {
			_, why, _ = strings.Cut(strings.TrimSuffix(ofRival(c, r).Verdict, ")"), " (")
		}
		out = append(out, r.Cell.Cell.ID+" ("+why+")")
	}
	return few(out)
}

// unranked says which rivals have no place.
func unranked(p places) string {
	if len(p.unranked) == 0 {
		return ""
	}
	return " Not ranked, because something else may be why they are lower: " + whys(p.unranked) + "."
}

// whys names rivals with what else may be why they are lower.
func whys(rivals []*compare.Rival) string {
	var out []string
	for _, r := range rivals {
		out = append(out, r.Cell.Cell.ID+" ("+r.Why()+")")
	}
	return few(out)
}

func upper(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
