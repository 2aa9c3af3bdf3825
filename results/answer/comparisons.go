// SPDX-License-Identifier: MIT

package answer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

// comparisons writes, figure by figure, which cells differ from what they are compared with.
func (w *writer) comparisons() {
	rows := w.Compared.Rows
	if w.Set != nil {
		rows = slices.DeleteFunc(slices.Clone(rows), func(r compare.Row) bool {
			return !rivals(&r.A, &r.B) ||
				!fits(&r.B, r.Metric)
		})
	}
	for from := 0; from < len(rows); {
		to := from
		for to < len(rows) && rows[to].Metric == rows[from].Metric {
			to++
		}
		if w.Compare == nil || slices.Contains(w.Compare, rows[from].Metric) {
			w.figure(rows[from:to])
		}
		from = to
	}
	w.doubts()
}

// doubts names the figures whose comparisons without a verdict are not told one by one.
func (w *writer) doubts() {
	if len(w.untold) == 0 {
		return
	}
	s := Sentence{Section: Open, Kind: Unsure}
	var figures []string
	for _, r := range w.untold {
		if name := brief(r.Metric); !slices.Contains(figures, name) {
			figures = append(figures, name)
		}
		if !slices.Contains(s.Cells, r.B.ID) {
			s.Cells = append(s.Cells, r.B.ID)
		}
		s.StandsOn = append(s.StandsOn, ofRow(r))
	}
	s.Text = fmt.Sprintf("No verdict either on %s: %s.", few(figures), few(s.Cells))
	w.say(s)
}

// figure writes up the comparisons of one figure.
func (w *writer) figure(rows []compare.Row) {
	by := map[Kind][]*compare.Row{}
	for i := range rows {
		r := &rows[i]
		k := kindOf(r)
		if k == Better && w.told[[3]string{r.A.ID, r.B.ID, r.Metric}] || k == Worse &&
			w.told[[3]string{r.B.ID, r.A.ID, r.Metric}] {
			continue
		}
		by[k] = append(by[k], r)
	}
	w.differ(by[Better], Better)
	w.differ(by[Worse], Worse)
	w.equal(by[Equal])
	w.missedPaces(by[offPace], len(rows))
	w.unequal(by[unequal], len(rows))
	if !slices.ContainsFunc(by[Unsure], func(r *compare.Row) bool { return !w.open(r) }) {
		return
	}
	if w.Compare != nil && rows[0].Metric != w.Compare[0] {
		w.untold = append(w.untold, by[Unsure]...)
		return
	}
	w.unsure(by[Unsure], rows)
}

// open reports whether a ranking has already said that the two cannot be told apart, or that there
// are too few runs of all.
func (w *writer) open(r *compare.Row) bool {
	if why := reason(r); (why == tooFew || why == tooMany || why == noBoots) &&
		slices.ContainsFunc(w.a.Sentences, func(s Sentence) bool { return s.Kind == Few && s.Figure == r.Metric }) {
		return true
	}
	return w.level[[3]string{r.A.ID, r.B.ID, r.Metric}] || w.level[[3]string{r.B.ID, r.A.ID, r.Metric}]
}

func kindOf(r *compare.Row) Kind {
	switch {
	case r.Verdict.Good():
		return Better
	case r.Verdict != compare.Unsure:
		return Worse
	case r.Equal.Holds():
		return Equal
	case r.Work.Missed():
		return offPace
	case r.Work.Unequal():
		return unequal
	}
	return Unsure
}

// differ writes what is faster or cheaper, or the other way round, what was declared to count and
// then the largest differences first.
func (w *writer) differ(rows []*compare.Row, kind Kind) {
	if len(rows) == 0 {
		return
	}
	slices.SortStableFunc(rows, func(a, b *compare.Row) int {
		if x, y := w.bound(a), w.bound(b); x != y {
			return map[bool]int{true: 1, false: -1}[x]
		}
		if a.Exploratory != b.Exploratory {
			return map[bool]int{true: 1, false: -1}[a.Exploratory]
		}
		return compareFar(b, a)
	})
	s := Sentence{Section: Shown, Kind: kind, Figure: rows[0].Metric}
	verdict := string(rows[0].Verdict)
	var told []string
	for _, r := range rows {
		s.Cells, s.StandsOn = append(s.Cells, r.B.ID), append(s.StandsOn, ofRow(r))
		told = append(told, pair(r)+caveats(r))
	}
	s.Text = fmt.Sprintf("%s, %s: %s.", head(rows[0].Metric), verdict, list(told))
	w.say(s)
}

// bound reports whether one of the two cells is no way to receive.
func (w *writer) bound(r *compare.Row) bool {
	return w.bounds[r.A.ID] || w.bounds[r.B.ID]
}

// list names things as few does, with semicolons between them because they have commas.
func list(told []string) string {
	if n := len(told); n > most+1 {
		told = append(slices.Clone(told[:most]), fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(told, "; ")
}

// compareFar orders rows by how far the two are apart.
func compareFar(a, b *compare.Row) int {
	far := func(r *compare.Row) float64 { return math.Abs(math.Log(r.Diff.Ratio.Value)) }
	switch x, y := far(a), far(b); {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// pair formats a comparison with its ratio: "uring/tcp, 31.2 % less than tcp/tcp [8.2..48.0 %]".
func pair(r *compare.Row) string {
	if r.A.ID == r.B.ID {
		return r.B.ID + " in B, " + byHowMuch(r.Told(), "in A")
	}
	return r.B.ID + ", " + byHowMuch(r.Told(), r.A.ID)
}

// caveats formats a verdict's caveats, in brackets.
func caveats(r *compare.Row) string {
	if all := r.Caveats(); all != nil {
		return " (" + strings.Join(all, "; ") + ")"
	}
	return ""
}

func (w *writer) equal(rows []*compare.Row) {
	if len(rows) == 0 {
		return
	}
	s := Sentence{Section: Shown, Kind: Equal, Figure: rows[0].Metric}
	var told []string
	for _, r := range rows {
		s.Cells, s.StandsOn = append(s.Cells, r.B.ID), append(s.StandsOn, ofRow(r))
		told = append(told, r.Label()+caveats(r))
	}
	s.Text = fmt.Sprintf("%s, equal within %g %%: %s.", head(rows[0].Metric), 100*rows[0].Equal.Margin, list(told))
	w.say(s)
}

// unequal writes that costs were compared at different rates.
func (w *writer) unequal(rows []*compare.Row, of int) {
	if len(rows) == 0 {
		return
	}
	s := Sentence{Section: Open, Kind: unequal, Figure: rows[0].Metric}
	for _, r := range rows {
		s.Cells, s.StandsOn = append(s.Cells, r.B.ID), append(s.StandsOn, ofRow(r))
	}
	s.Text = fmt.Sprintf("%s: %s no verdict, because the two did not deliver the same rate (within 2 %%), and a "+
		"cost depends on the rate. Pace both alike for equal work (--pace).",
		head(rows[0].Metric), ofAll(len(rows), of, "has", "have"))
	w.say(s)
}

// missedPaces writes of which cells it is known that they cannot hold a pace, which others can:
// what they would cost at it is not known.
func (w *writer) missedPaces(rows []*compare.Row, of int) {
	if len(rows) == 0 {
		return
	}
	s := Sentence{Section: Open, Kind: offPace, Figure: rows[0].Metric}
	var told []string
	for _, r := range rows {
		s.Cells, s.StandsOn = append(s.Cells, r.B.ID), append(s.StandsOn, ofRow(r))
		told = append(told, r.MissedText())
	}
	s.Text = fmt.Sprintf("%s: %s no verdict: %s.", head(rows[0].Metric), ofAll(len(rows), of, "has", "have"),
		list(told))
	w.say(s)
}

// ofAll formats a count of comparisons: "3 of 5 comparisons have".
func ofAll(n, of int, one, many string) string {
	switch {
	case of == 1:
		return "the comparison " + one
	case n == of && n == 2:
		return "both comparisons " + many
	case n == of:
		return fmt.Sprintf("all %d comparisons %s", n, many)
	case n == 1:
		return fmt.Sprintf("1 of %d comparisons %s", of, one)
	}
	return fmt.Sprintf("%d of %d comparisons %s", n, of, many)
}

// unsure writes how many comparisons are undecided, and why; which differences they leave out, and
// how many runs would find one that matters.
func (w *writer) unsure(rows []*compare.Row, all []compare.Row) {
	if len(rows) == 0 {
		return
	}
	s := Sentence{Section: Open, Kind: Unsure, Figure: rows[0].Metric}
	reasons := map[string]int{}
	for _, r := range rows {
		s.Cells, s.StandsOn = append(s.Cells, r.B.ID), append(s.StandsOn, ofRow(r))
		reasons[reason(r)]++
	}
	s.Text = fmt.Sprintf("%s: %s no verdict: %s.", head(rows[0].Metric), ofAll(len(rows), len(all), "has", "have"),
		counted(reasons))
	text, runs := w.resolution(rows)
	s.Text, s.RunsNeeded = s.Text+text, runs
	w.say(s)
}

// Reasons why there is no verdict.
const (
	tooClose  = "the runs vary too much for so small a difference, if there is one"
	tooFew    = "too few runs"
	tooMany   = "so few runs cannot decide so many comparisons, whatever the data"
	noBoots   = "too few boots"
	byClocks  = "the hosts' clocks do not agree well enough"
	byCaches  = "caches may carry as much from turn to turn: longer turns make that less"
	byFactors = "the two differ in several factors"
)

func reason(r *compare.Row) string {
	switch {
	case r.Other != "":
		return "other instruments"
	case r.Mixed():
		return byFactors
	case r.OtherClass != "":
		return "CPUs of other classes"
	case r.ByClocks:
		return "other CPU frequencies"
	case len(r.Published) > 0:
		return "published figures, which have no runs"
	case r.Diff.TooFewUnits() && min(r.Diff.NA, r.Diff.NB) >= stat.MinRuns:
		return noBoots
	case len(r.Diff.Warnings) > 0:
		return tooFew
	case r.AtLimit != "":
		return compare.AtLimit(r.AtLimit)
	case r.Work == compare.ByTheRates:
		return "the costs differ no more than the rates do"
	case r.OffClocks:
		return byClocks
	case r.OffCaches:
		return byCaches
	case r.Reach != nil && !r.Reach.Attainable():
		return tooMany
	}
	return tooClose
}

// counted names reasons, the commonest first, with how often each is one where there are several.
func counted(reasons map[string]int) string {
	var names []string
	for name := range reasons {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if reasons[a] != reasons[b] {
			return reasons[b] - reasons[a]
		}
		return strings.Compare(a, b)
	})
	if len(names) == 1 {
		return names[0]
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%s (%d)", name, reasons[name])
	}
	return strings.Join(names, ", ")
}

// resolution puts in words above which share no difference is in comparisons without a verdict, and
// computes how many runs would find one that matters in each; of those that lack nothing else.
func (w *writer) resolution(rows []*compare.Row) (text string, runs int) {
	var resolved, lacking []*compare.Row
	excluded, spread := 0.0, false // whether it is known how much the runs vary
	for _, r := range rows {
		if why := reason(r); why != tooClose && why != tooFew && why != tooMany {
			continue
		}
		share, ok := r.Excludes()
		if ok && share > 0 {
			resolved, excluded = append(resolved, r), max(excluded, share)
		}
		n, least := r.RunsToFind(r.Tests(), w.effect())
		if least == 0 || ok && share < w.effect() {
			continue
		}
		lacking, runs, spread = append(lacking, r), max(runs, n, least), spread || n > 0
	}
	if len(resolved) > 0 {
		text = " " + upper(above(excluded))
		if len(resolved) < len(rows) {
			text += fmt.Sprintf(" in %d of them", len(resolved))
		}
		text += "."
	}
	took, cells := compare.HowLong(runs, lacking)
	switch {
	case lacking == nil:
	case runs > mostRuns:
		return text + fmt.Sprintf(" Not even %d runs of each would find one of %s.", mostRuns, w.matters()), 0
	case !spread:
		text += fmt.Sprintf(" That takes at least %d runs of each.", runs)
	default:
		text += fmt.Sprintf(" A new plan that finds one of %s in 8 of 10 cases takes about %d runs of each%s.",
			w.matters(), runs, lasting(took, cells))
	}
	return text, runs
}

// ofRow makes the verdict of a comparison.
func ofRow(r *compare.Row) verdict {
	v := verdict{Cell: r.B.ID, Beside: r.A.ID, Figure: r.Metric, Verdict: r.VerdictText(), Ratio: r.Diff.Ratio,
		Runs: r.Runs()}
	if r.Diff.Testable() {
		v.Adjusted = &r.Diff.Adjusted
	}
	if r.Verdict != compare.Unsure {
		v.Told = r.Told()
	}
	return v
}
