// SPDX-License-Identifier: MIT

package compare

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results/stat"
)

// Sources writes what is compared with what.
func (r *Result) Sources(w io.Writer) error {
	if r.within {
		return screen.Line(w, "", "  ", fmt.Sprintf("B : A = two cells of %s, which differ in one factor; baseline %s",
			plaintext.Line(r.NameB), plaintext.Line(r.NameA)))
	}
	return errors.Join(screen.Line(w, "A = ", "  ", plaintext.Line(r.NameA)),
		screen.Line(w, "B = ", "  ", plaintext.Line(r.NameB)))
}

// Table writes a comparison for a terminal: a table per metric, then what is only
// in one of the two, warnings and the sources of published figures.
func (r *Result) Table(w io.Writer) error {
	if r.Same != "" {
		screen.Text(w, "", "  ", plaintext.Line(r.Same))
		fmt.Fprintln(w)
	}
	for from := 0; from < len(r.Rows); {
		to := from
		for to < len(r.Rows) && r.Rows[to].Metric == r.Rows[from].Metric && r.Rows[to].Factor == r.Rows[from].Factor {
			to++
		}
		if err := metricTable(w, r.Rows[from:to]); err != nil {
			return err
		}
		from = to
	}
	for _, only := range []struct {
		name  string
		cells []Alone
	}{{"A", r.OnlyA}, {"B", r.OnlyB}} {
		if err := aloneTable(w, only.name, only.cells); err != nil {
			return err
		}
	}
	if err := r.Hosts.Table(w); err != nil {
		return err
	}
	for i, line := range r.ForcedLines() {
		if i == 0 {
			fmt.Fprintln(w)
		}
		screen.Text(w, "", "  ", plaintext.Line(line))
	}
	for i, s := range r.sources() {
		fmt.Fprintln(w)
		screen.Text(w, fmt.Sprintf("[%d] ", i+1), "    ", "published: "+plaintext.Line(s))
	}
	lines := r.Method()
	if r.AtRates() {
		lines = append(lines, "at saturation, at another pace: the two did not deliver the same rate (within 2 "+
			"%), so their costs are not for equal work; measure at one pace (--pace).")
	}
	lines = append(lines, r.missed()...)
	if r.LeftOut() {
		lines = append(lines, "with all runs: the verdict if the runs that gates left out were included (B/A, "+
			"runs); k of n: k of the n repetitions made count.")
	}
	if r.Exploratory() {
		lines = append(lines, "exploratory: the plan did not declare it as primary. Repeat the measurements that "+
			"matter.")
	}
	_, err := fmt.Fprintln(w)
	for _, line := range lines {
		err = errors.Join(err, screen.Text(w, "", "  ", line))
	}
	return err
}

// LeftOut reports whether gates left runs out of any comparison.
func (r *Result) LeftOut() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return row.All != nil })
}

// Method describes the tests that the rows were judged by, a sentence or two per line.
func (r *Result) Method() (lines []string) {
	has := func(is func(*Row) bool) bool {
		return slices.ContainsFunc(r.Rows, func(row Row) bool { return is(&row) })
	}
	if !has(func(row *Row) bool { return row.Whole }) {
		line := "The two cells of a row differ only in the factor by which they are compared"
		if has(func(row *Row) bool { return row.Beside != nil }) {
			line += ", and in options that only one of the two modes has: \"beside ... with\" names those that the " +
				"plan declares"
		}
		lines = append(lines, line+".")
	}
	blocked := has(func(row *Row) bool { return row.Diff.Pairs > 0 })
	if blocked {
		of := []string(nil)
		if has(func(row *Row) bool { return row.Diff.Pairs > 0 && !row.Diff.InTurns() }) {
			of = append(of, "p comes from ranks permuted within pairs of blocks")
		}
		if has(func(row *Row) bool { return row.Diff.InTurns() }) {
			of = append(of, "p of two that took turns comes from these ranks, too")
		}
		lines = append(lines, "B/A and its 95 % interval come from runs of the same block (Hodges-Lehmann; "+
			"Wilcoxon's signed ranks); "+strings.Join(of, "; ")+".")
	}
	if has(func(row *Row) bool { return row.Diff.Pairs == 0 }) {
		plain := "B/A is the ratio of medians, its 95 % interval a bootstrap; p comes from Mann-Whitney's U."
		if blocked {
			plain = "Where no blocks are shared: " + plain
		}
		lines = append(lines, plain)
	}
	over := ""
	if r.With > 1 {
		over = fmt.Sprintf(" and all %d sources that A is compared with", r.With)
	}
	lines = append(lines, "p is corrected over all cells and figures together"+over+r.firstText()+
		". A verdict needs both, and 6 runs of each; \"cannot tell\" does not mean equal.")
	return lines
}

// firstText names the comparisons that come first.
func (r *Result) firstText() string {
	if !slices.ContainsFunc(r.Rows, func(row Row) bool { return !row.main }) {
		return ""
	}
	if slices.ContainsFunc(r.Rows, func(row Row) bool { return row.declared }) {
		return "; those that the plan declares come first, and the others have what these leave"
	}
	for i := range r.Rows {
		if r.Rows[i].main {
			return "; half of the level is for those by " + r.Rows[i].Factor
		}
	}
	return ""
}

// ForcedLines say what the hardware left no choice of, each once.
func (r *Result) ForcedLines() (lines []string) {
	seen := map[string]bool{}
	for i := range r.Rows {
		for _, f := range r.Rows[i].Forced {
			line := fmt.Sprintf("%s=%s of %s is forced: %s cannot run: %s", f.Factor, f.Value, r.Rows[i].B.ID, f.Cell,
				f.Reason)
			if !seen[line] {
				seen[line] = true
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// Exploratory reports whether any comparison is exploratory.
func (r *Result) Exploratory() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Exploratory })
}

func aloneTable(w io.Writer, name string, cells []Alone) error {
	if len(cells) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nonly in %s (%s, %s)\n", name, cells[0].Metric, cells[0].Unit)
	t := screen.Aligned("<<")
	for _, c := range cells {
		t.Row(plaintext.Line(c.Cell), medianText(c.Sum))
	}
	return t.Write(w)
}

func metricTable(w io.Writer, rows []Row) error {
	higher := "lower is better"
	if rows[0].higherWins {
		higher = "higher is better"
	}
	fmt.Fprintf(w, "\n%s%s (%s, %s)\n", rows[0].Metric, rows[0].by(), rows[0].Unit, higher)
	head, all := []string{"cell", "A", "B", "n", "B/A", "95 % interval", "p", "verdict"}, false
	if slices.ContainsFunc(rows, func(r Row) bool { return r.All != nil }) {
		head, all = append(head, "with all runs"), true
	}
	t := screen.Aligned(strings.Repeat("<", len(head)))
	t.Head(head...)
	for i := range rows {
		row := &rows[i]
		lo, hi := row.Interval()
		interval := "-"
		if lo != "-" {
			interval = lo + ".." + hi
		}
		cells := []string{plaintext.Line(row.Label()), median(row, 'A'), median(row, 'B'), row.Runs(),
			row.RatioText(), interval, row.PText(), row.VerdictText()}
		if all {
			cells = append(cells, row.AllText())
		}
		t.Row(cells...)
	}
	err := t.Write(w)
	for _, line := range untold(rows) {
		err = errors.Join(err, screen.Text(w, "", "  ", plaintext.Line(line)))
	}
	return err
}

// untold lists what changes the meaning of figures whose rows have no verdict for it to stand
// beside: readers of the two medians need it as well.
func untold(rows []Row) (lines []string) {
	of := map[string][]string{}
	var texts []string
	for i := range rows {
		r := &rows[i]
		_, beside := r.verdict("A", "B")
		for _, text := range r.meansOf("A", "B") {
			if slices.Contains(beside, text) {
				continue
			}
			if of[text] == nil {
				texts = append(texts, text)
			}
			of[text] = append(of[text], r.Label())
		}
	}
	for _, text := range texts {
		where := strings.Join(of[text], ", ")
		if len(of[text]) == len(rows) && len(rows) > 1 {
			where = "all rows"
		}
		lines = append(lines, "in "+where+": "+text)
	}
	return lines
}

// by names the question of a row's table.
func (r *Row) by() string {
	switch {
	case r.Factor != "":
		return " by " + r.Factor
	case r.Mixed():
		return ", cells without a counterpart"
	}
	return ""
}

// Label names the row's cell, or both where they differ.
func (r *Row) Label() string { return label(&r.A, &r.B) }

func label(a, b *plan.Cell) string {
	if a.ID == b.ID {
		return a.ID
	}
	return b.ID + " : " + a.ID
}

// RatioText, Interval, PText and VerdictText are the row's figures as people read
// them; "-" is not known.
func (r *Row) RatioText() string {
	if r.Diff.Ratio == nil {
		return "-"
	}
	return strconv.FormatFloat(r.Diff.Ratio.Value, 'f', 3, 64)
}

// Interval of the ratio.
func (r *Row) Interval() (lo, hi string) {
	if q := r.Diff.Ratio; q != nil && q.Lo != nil {
		return strconv.FormatFloat(*q.Lo, 'f', 3, 64), strconv.FormatFloat(*q.Hi, 'f', 3, 64)
	}
	return "-", "-"
}

// PText formats the corrected p-value; "-" where there are too few runs for a meaningful one, or
// there can be no verdict.
func (r *Row) PText() string {
	switch {
	case len(r.Diff.Warnings) > 0, r.Other != "", r.Mixed(), !r.asks(): // nothing is asked
		return "-"
	case r.Diff.Adjusted < 0.001:
		return "<0.001"
	}
	return strconv.FormatFloat(r.Diff.Adjusted, 'f', 3, 64)
}

// VerdictText formats the verdict, with the reason where there is none.
func (r *Row) VerdictText() string {
	v, beside := r.verdict("A", "B")
	if beside != nil {
		v += " (" + strings.Join(beside, "; ") + ")"
	}
	if r.Other == "" && r.Mixed() {
		v += r.forcedText()
	}
	return v
}

// Caveats returns what [Row.VerdictText] adds to the verdict; cells of different ids go by their
// ids.
func (r *Row) Caveats() []string {
	a, b := "A", "B"
	if r.A.ID != r.B.ID {
		a, b = r.A.ID, r.B.ID
	}
	_, beside := r.verdict(a, b)
	return beside
}

// verdict puts the verdict into few words, and returns what to add to it. The cells go by these
// names.
func (r *Row) verdict(nameA, nameB string) (v string, beside []string) {
	v = string(r.Verdict)
	switch {
	case r.Other != "":
		return v, []string{"other instrument: " + plaintext.Line(r.Other)}
	case r.Mixed():
		return v, []string{"differs in " + strings.Join(r.Others, ", ")}
	case r.OtherCPUs() != "":
		return v, []string{plaintext.Line(r.OtherCPUs())}
	case len(r.Published) > 0:
		return v, []string{"published figure"}
	case len(r.Diff.Warnings) > 0:
		return v, r.Diff.Warnings
	case r.Work != "":
		return string(r.Work), nil
	case r.OffClocks, r.OffCaches:
		return v, []string{r.offText()}
	case r.Verdict == Unsure && r.Inert == nil && !r.Equal.Holds() && r.Reach != nil && !r.Reach.Attainable():
		return v, []string{fmt.Sprintf("with %d runs in %d comparisons, p is at least %.2g", r.Reach.Runs,
			r.Reach.Tests, r.Reach.LeastP)}
	}
	if r.Equal.Holds() {
		within := fmt.Sprintf("within %g %%", 100*r.Equal.Margin)
		if r.Verdict == Unsure {
			v = "equal " + within
		} else {
			beside = append(beside, within)
		}
	}
	if r.AtLimit != "" && r.Verdict == Unsure {
		v = AtLimit(r.AtLimit)
	} else if r.AtLimit != "" {
		beside = append(beside, AtLimit(r.AtLimit)+": at least this much")
	}
	if v != string(Unsure) && r.AtLimit == "" || r.Verdict != Unsure {
		beside = append(beside, r.levels()...)
	}
	if r.OtherClock != "" {
		beside = append(beside, otherCPUs("", r.OtherClock))
	}
	if r.ByRates && r.Verdict != Unsure {
		beside = append(beside, byRates)
	}
	if r.Unconsumed != "" && (r.Verdict != Unsure || r.Equal.Holds()) {
		beside = append(beside, unconsumedIn(&r.A, &r.B, nameA, nameB))
	}
	if r.Verdict != Unsure || r.Equal.Holds() {
		beside = append(beside, r.meansOf(nameA, nameB)...)
	}
	if text := r.offText(); text != "" && (r.Verdict != Unsure || r.Equal.Holds()) {
		beside = append(beside, text)
	}
	if r.Inert != nil {
		beside = append(beside, didNotAct(r.Inert))
	}
	if r.Exploratory {
		beside = append(beside, "exploratory")
	}
	return v, beside
}

// levels say what an answer holds for, and of which factors.
func (r *Row) levels() (words []string) {
	if r.Beside != nil {
		words = append(words, "beside "+factorOf(&r.A, r.Factor)+" with "+strings.Join(r.Beside, ", "))
	}
	if text := LevelText(&r.Diff); text != "" {
		words = append(words, text)
	}
	if len(r.Others) > 0 {
		words = append(words, "of "+strings.Join(r.Others, ", ")+" together")
	}
	for _, f := range r.Forced {
		words = append(words, f.Factor+"="+f.Value+" forced")
	}
	return words
}

// LevelText formats what an answer holds for; "": nothing is known of where the runs stand.
func LevelText(d *stat.Difference) string {
	switch d.Level {
	case stat.WithinBoot:
		return "within this boot"
	case stat.WithinSession:
		return "within this session"
	case stat.WithinBoots:
		return fmt.Sprintf("within these %d boots", d.BootsB)
	case stat.AcrossBoots:
		return fmt.Sprintf("across %d and %d boots", d.BootsA, d.BootsB)
	case stat.WithinStarts:
		return fmt.Sprintf("within these %d starts", d.StartsB)
	case stat.AcrossStarts:
		if d.Pairs > 0 {
			return fmt.Sprintf("across %d starts", d.Pairs)
		}
		return fmt.Sprintf("across %d and %d %s", d.StartsA, d.StartsB, startsOf(d))
	case stat.DeclaredStarts:
		return fmt.Sprintf("of %d and %d %s, %.2g %% between starts declared", d.StartsA, d.StartsB, startsOf(d),
			100*d.Between)
	case stat.DeclaredBoots:
		return fmt.Sprintf("of %d and %d boots, %.2g %% between boots declared", d.BootsA, d.BootsB, 100*d.Between)
	}
	return ""
}

// startsOf names what stands for the runs of two without a common start.
func startsOf(d *stat.Difference) string {
	if d.OfSessions {
		return "sessions"
	}
	return "starts"
}

func (r *Row) forcedText() string {
	var words []string
	for _, f := range r.Forced {
		words = append(words, f.Factor+"="+f.Value)
	}
	if words == nil {
		return ""
	}
	return "; forced: " + strings.Join(words, ", ")
}

func median(r *Row, side byte) string {
	s := r.SumA
	if side == 'B' {
		s = r.SumB
	}
	return medianText(s)
}

func medianText(s *stat.Summary) string {
	if s == nil {
		return "-"
	}
	return strconv.FormatFloat(s.Median, 'f', decimals(s.Median), 64)
}

func decimals(v float64) int {
	if v >= 1000 {
		return 1
	}
	return 2
}

func (r *Result) sources() []string {
	var out []string
	for _, row := range r.Rows {
		for _, s := range row.Published {
			if !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	for _, c := range slices.Concat(r.OnlyA, r.OnlyB) {
		if c.Published != "" && !slices.Contains(out, c.Published) {
			out = append(out, c.Published)
		}
	}
	return out
}
