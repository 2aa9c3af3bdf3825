// SPDX-License-Identifier: MIT

package fleet

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
)

// What a terminal shows at most; JSON, CSV and HTML have everything.
const (
	mostRows     = 40 // of pairs that are off or failed, and else of all
	mostFewFacts = 4  // of a pair
	mostLines    = 12
)

// Table writes the fleet for a terminal: what was found, then the pairs, those first that are off
// or failed. With all, every pair has a row.
func (f *Fleet) Table(w io.Writer, all bool) error {
	b := screen.NewWriter(w)
	f.head(b)
	f.named(b, "hosts that are off in all their pairs", f.Hosts)
	f.named(b, "what hosts that are off have in common", f.Factors)
	f.columns(b)
	f.rows(b, all)
	for _, n := range f.Notes {
		screen.Line(b, "note: ", "  ", plaintext.Line(n))
	}
	return b.Flush()
}

// Summary sums up the fleet in a line.
func (f *Fleet) Summary() string {
	worse, better, failed, untested := 0, 0, 0, 0
	for _, p := range f.Pairs {
		switch {
		case p.Failed():
			failed++
		case p.worst() == Worse:
			worse++
		case p.worst() == Better:
			better++
		case p.Overall == nil || p.Overall.P == nil:
			untested++
		}
	}
	s := fmt.Sprintf("%s: %d significantly %s, %d %s, %d without a figure", count(len(f.Pairs), "pair"), worse,
		f.Word(Worse), better, f.Word(Better), failed)
	if untested > 0 {
		s += fmt.Sprintf(", %d with too few runs or pairs", untested)
	}
	return s
}

// Failed reports whether the pair has no figure at all.
func (p *pair) Failed() bool {
	return !slices.ContainsFunc(p.Figures, func(c Figure) bool { return c.N > 0 })
}

// worst returns the verdict of the pair: worse if anything of it is.
func (p *pair) worst() verdict {
	v := unsure
	if p.Overall != nil {
		v = p.Overall.Verdict
	}
	for i := range p.Figures {
		switch o := p.Figures[i].Off; {
		case o.Sure() && (o.Verdict == Worse || v != Worse):
			v = o.Verdict
		}
	}
	return v
}

func (f *Fleet) head(b *screen.Writer) {
	screen.Line(b, "", "  ", fmt.Sprintf("%s, %s in %s", f.Summary(), f.Metric, f.Unit))
	states := map[state]int{}
	for _, p := range f.Pairs {
		states[p.State]++
	}
	for _, s := range []state{Live, killed, Torn, noRuns, unreadable} {
		if states[s] > 0 {
			fmt.Fprintf(b, "%s: %s\n", count(states[s], "journal"), s.says())
		}
	}
}

// says describes the state in words.
func (s state) says() string {
	switch s {
	case Live:
		return "being written; the runs so far count"
	case killed:
		return "ended before the plan did; the runs that are there count"
	case Torn:
		return "cut off in the middle of a run; the runs before it count"
	case noRuns:
		return "without a run"
	case unreadable:
		return "missing, or cannot be read"
	}
	return string(s)
}

func (f *Fleet) named(b *screen.Writer, title string, all []common) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for i := range all {
		if i == mostLines {
			fmt.Fprintf(b, "  and %d more (--json has all)\n", len(all)-i)
			break
		}
		screen.Text(b, "  ", "    ", plaintext.Line(all[i].Says(f)))
	}
}

// columns lists the cells, so that the rows of pairs can name them by a number.
func (f *Fleet) columns(b *screen.Writer) {
	if len(f.Cells) == 0 {
		return
	}
	b.WriteString("\n")
	t := screen.Formatted("%4s  %9s  %8s  %5s  %-s")
	t.Head("cell", "median", "spread", "pairs")
	for i, c := range f.Cells {
		if i == mostRows {
			t.Text("      ", "      ", fmt.Sprintf("and %d more cells", len(f.Cells)-i))
			break
		}
		spread := "-"
		if c.Spread != nil {
			spread = strconv.FormatFloat(100**c.Spread, 'f', 2, 64) + " %"
		}
		t.Row(strconv.Itoa(i+1), figure(c.Median), spread, strconv.Itoa(c.Pairs), plaintext.Line(c.ID))
	}
	t.Write(b)
}

// inOrder sorts the pairs: those that are off first, the worst on top, then those that failed, then
// the others.
func (f *Fleet) inOrder() []*pair {
	rank := func(p *pair) int {
		switch {
		case p.Failed():
			return 1
		case p.Off():
			return 0
		}
		return 2
	}
	out := slices.Clone(f.Pairs)
	slices.SortStableFunc(out, func(a, b *pair) int {
		if c := cmp.Compare(rank(a), rank(b)); c != 0 || rank(a) != 0 {
			return c
		}
		return compareFloat(f.loss(b), f.loss(a))
	})
	return out
}

// loss returns by how much a pair is worse than the others, by its worst verdict.
func (f *Fleet) loss(p *pair) float64 {
	sign := -1.0
	if !f.HigherWins {
		sign = 1
	}
	most := 0.0
	for _, o := range p.offs() {
		if l := sign * o.Share; o.Sure() && (most == 0 || l > most) {
			most = l
		}
	}
	return most
}

// offs collects all deviations of the pair.
func (p *pair) offs() (out []*off) {
	if p.Overall != nil {
		out = append(out, p.Overall)
	}
	for i := range p.Figures {
		if o := p.Figures[i].Off; o != nil {
			out = append(out, o)
		}
	}
	return out
}

func (f *Fleet) rows(b *screen.Writer, all bool) {
	b.WriteString("\n")
	t := screen.Formatted("%-24s %-9s %8s  %-18s %7s  %-s")
	t.Head("pair", "runs ok", "off", "95 % interval", "p", "verdict")
	shown := 0
	for _, p := range f.inOrder() {
		notable := p.Off() || p.Failed() || p.State != complete
		if !all && shown >= mostRows && !notable {
			t.Text("", "", fmt.Sprintf("and %d more pairs (--all shows them)", len(f.Pairs)-shown))
			break
		}
		if !all && shown >= 4*mostRows {
			t.Text("", "", fmt.Sprintf("and %d more pairs (--all shows them)", len(f.Pairs)-shown))
			break
		}
		shown++
		name := plaintext.Line(p.Name)
		if b.Columns() == 0 {
			name = cut(name, 24)
		}
		f.row(t, p, name)
	}
	t.Write(b)
}

func (f *Fleet) row(t *screen.Table, p *pair, name string) {
	runs := fmt.Sprintf("%d of %d", p.Runs.OK, p.Runs.All())
	share, interval, chance, verdict := "-", "-", "-", "no figure"
	if o := p.Overall; o != nil {
		share, interval, chance, verdict = percent(o.Share), o.Interval(), o.Chance(), o.Words(f)
	} else if !p.Failed() {
		verdict = "nothing to hold it against"
	}
	if p.State != complete {
		verdict += "; " + string(p.State)
	}
	t.Row(name, runs, share, interval, chance, verdict)
	if p.Problem != "" {
		wrapped(t, "    ", plaintext.Line(p.Problem))
	}
	if p.Fix != "" {
		wrapped(t, "    ", "fix: "+plaintext.Line(p.Fix))
	}
	for i := range p.Figures {
		if c := &p.Figures[i]; c.Off.Sure() {
			wrapped(t, "    ", fmt.Sprintf("cell %d: %s (%s), p %s, %s", c.Cell+1, percent(c.Off.Share),
				c.Off.Interval(), c.Off.Chance(), f.Word(c.Off.Verdict)))
		} else if c.N == 0 && c.Reason != "" && !p.Failed() {
			wrapped(t, "    ", plaintext.Line(fmt.Sprintf("cell %d: no figure: %s", c.Cell+1, c.Reason)))
		}
	}
	if !p.Off() && !p.Failed() {
		return
	}
	if p.SUT.Host+p.TG.Host != "" {
		wrapped(t, "    ", plaintext.Line("from "+p.TG.String()+" to "+p.SUT.String()))
	}
	for _, why := range p.Because {
		wrapped(t, "    ", plaintext.Line(why))
	}
	for i, d := range p.Differs {
		if i == mostFewFacts {
			wrapped(t, "    ", fmt.Sprintf("and %d more facts (--json, --html)", len(p.Differs)-i))
			break
		}
		wrapped(t, "    ", plaintext.Line(d.String()))
	}
}

// String formats the end as "HOST DEV".
func (e end) String() string { return strings.TrimSpace(e.Host + " " + e.Dev) }

// String formats the fact as "SUT firmware: 22.31; 998 of 1000 hosts have 22.36".
func (d Fact) String() string {
	return fmt.Sprintf("%s %s: %s; %d of %s have %s", d.Role.Label(), d.Name, d.Value, d.Have, count(d.Of, "host"),
		d.Usual)
}

// Interval formats the interval: "-5.4 to -4.6 %".
func (o *off) Interval() string {
	if o == nil || o.Lo == nil {
		return "-"
	}
	return signed(*o.Lo) + " to " + signed(*o.Hi) + " %"
}

// Chance formats the corrected p.
func (o *off) Chance() string {
	switch {
	case o == nil || o.Adjust == nil:
		return "-"
	case *o.Adjust < .001:
		return "<0.001"
	}
	return strconv.FormatFloat(*o.Adjust, 'f', 3, 64)
}

// Words formats the verdict, or why there is none.
func (o *off) Words(f *Fleet) string {
	switch {
	case o == nil:
		return "-"
	case o.Verdict == tooFewRuns:
		return fmt.Sprintf("too few runs (%d < 6)", o.Runs)
	case o.Verdict == tooFewPairs:
		return fmt.Sprintf("too few pairs (%d < 7)", o.Others+1)
	}
	return f.Word(o.Verdict)
}

// figure shows about four digits, and never an exponent.
func figure(v *float64) string {
	if v == nil {
		return "-"
	}
	decimals := 3
	for limit := 9.9995; decimals > 0 && *v >= limit; limit *= 10 {
		decimals--
	}
	return strconv.FormatFloat(*v, 'f', decimals, 64)
}

func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-3]) + "..."
	}
	return s
}

// wrapped adds a text in lines that begin alike; what follows the first stands further in.
func wrapped(t *screen.Table, indent, text string) { t.Text(indent, indent+"  ", text) }
