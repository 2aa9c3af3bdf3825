// SPDX-License-Identifier: MIT

package answer

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

// Wide is how many columns the small table and the doubts keep to.
const Wide = 100

// Columns are the headings of the small table.
var Columns = []string{"cell", "rate", "receiver", "sender", "ratio", "verdict"}

// mostRows is of how many cells the small table is.
const mostRows = 40

// WriteBrief writes the short answer for a terminal: the sentences, the table, the doubts.
func WriteBrief(w io.Writer, a *Brief) error {
	if a == nil {
		return nil
	}
	b := screen.NewWriter(w)
	for _, s := range a.Sentences() {
		screen.Text(b, "", "", plaintext.Line(s))
	}
	if len(a.Rows) > 0 {
		b.WriteString("\n")
		writeTable(b, a.Rows)
		if text := a.OpenMeans(); text != "" {
			screen.Line(b, "", "  ", text)
		}
	}
	if len(a.Doubts) > 0 {
		b.WriteString("\n")
		doubts := a.Doubts
		if n := b.Columns(); n > Wide && a.doubtsIn != nil {
			doubts = a.doubtsIn(n)
		}
		for _, d := range doubts {
			screen.Line(b, "", "  ", plaintext.Line(d))
		}
	}
	return b.Flush()
}

// OpenMeans says what "open" is beside an interval; "" where the table has none.
func (b *Brief) OpenMeans() string {
	if !slices.ContainsFunc(b.Rows, func(r []string) bool {
		return r[5] == string(open) && strings.Contains(r[4], "[")
	}) {
		return ""
	}
	return "open: not decided. An interval is of its pair alone, and verdicts hold for all together."
}

// inGbps reports whether each rate of the table is in Gbit/s.
func inGbps(rows [][]string) bool {
	return !slices.ContainsFunc(rows, func(r []string) bool {
		return r[1] != none && !strings.HasSuffix(r[1], " Gbit/s")
	})
}

// longCell is how wide the column of cells is at most; longer names have a line of their own.
const longCell = 32

func writeTable(b *screen.Writer, rows [][]string) {
	above := []string{"", "", "CPU s/GB", "CPU s/GB", "", ""}
	if b.Columns() > 0 {
		t := screen.Aligned("<>>><<")
		heads, unit := Columns, ""
		if inGbps(rows) { // the unit of all takes less room as a heading
			unit, heads = " Gbit/s", slices.Clone(Columns)
			above[1], heads[1] = heads[1], strings.TrimSpace(unit)
		}
		t.Head(above...)
		t.Head(heads...)
		for _, r := range rows {
			cells := make([]string, len(r))
			for i, f := range r {
				cells[i] = plaintext.Line(f)
			}
			cells[1] = strings.TrimSuffix(cells[1], unit)
			t.Row(cells...)
		}
		t.Write(b)
		return
	}
	widths := make([]int, len(Columns))
	for i, h := range Columns {
		widths[i] = max(utf8.RuneCountInString(h), utf8.RuneCountInString(above[i]))
	}
	width := func(f string) int { return utf8.RuneCountInString(plaintext.Line(f)) }
	long := Wide
	for i := 1; i < len(Columns); i++ {
		for _, r := range rows {
			widths[i] = max(widths[i], width(r[i]))
		}
		long -= 2 + widths[i]
	}
	long = min(longCell, long)
	for _, r := range rows {
		if n := width(r[0]); n <= long {
			widths[0] = max(widths[0], n)
		}
	}
	line := func(fields []string) {
		var out strings.Builder
		for i, f := range fields {
			f = plaintext.Line(f)
			pad := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(f)))
			if i > 0 {
				out.WriteString("  ")
			}
			if i == 0 || i >= 4 {
				out.WriteString(f + pad)
			} else {
				out.WriteString(pad + f)
			}
		}
		b.WriteString(strings.TrimRight(out.String(), " ") + "\n")
	}
	line(above)
	line(Columns)
	for _, r := range rows {
		if width(r[0]) > long {
			b.WriteString(plaintext.Wrap("", "  ", plaintext.Line(r[0])))
			r = append([]string{""}, r[1:]...)
		}
		line(r)
	}
}

// table makes a row per cell: its rate, what it took, how it stands to the one that it is compared
// with.
func (s *shortener) table() (rows [][]string) {
	add := func(name string, c *compare.Cell) {
		if len(rows) < mostRows {
			rows = append(rows, s.row(name, c))
		}
	}
	n := 0
	switch {
	case s.Set != nil:
		other := s.Set.OtherTurns()
		for i := range s.Set.Cells {
			c := &s.Set.Cells[i]
			if c.Source == "" && !(len(c.Runs) > 0 && c.Runs[0].Calibrates()) && !other(&c.Cell) {
				add(c.Cell.ID, c)
				n++
			}
		}
	case s.Compared != nil:
		for _, c := range s.Compared.Couples() {
			add("A: "+c.A.Cell.ID, c.A)
			add("B: "+c.B.Cell.ID, c.B)
			n += 2
		}
	}
	if n < 2 {
		return nil
	}
	if n > mostRows {
		rows = append(rows, []string{fmt.Sprintf("and %d more: see the report", n-mostRows), "", "", "", "", ""})
	}
	return rows
}

const none = "-"

func (s *shortener) row(name string, c *compare.Cell) []string {
	rate, rx, tx := cmp.Or(rateText(c.Runs, 0), none), none, none
	if !c.Cell.RoundTrips() && !c.Cell.MovesPackets() {
		rx, tx = perGB("ns_per_kb", c), perGB("tg_ns_per_kb", c)
	}
	ratio, verdict := none, none
	switch r := s.beside(c); {
	case len(c.Runs) == 0:
		if verdict = cmp.Or(string(lastVerdict(c)), "not run"); verdict == string(results.Invalid) ||
			verdict == string(results.Failed) {
			verdict = fmt.Sprintf("%d %s", c.Other, verdict)
		}
	case missesPace(c):
		verdict = "off pace"
	case r != nil && r.Work != "":
	case r != nil:
		ratio, verdict = s.ratioText(r), verdictText(r)
	case s.reference(c):
		ratio = "1"
	}
	return []string{name, rate, rx, tx, ratio, verdict}
}

func lastVerdict(c *compare.Cell) results.Verdict {
	if c.Refused != nil {
		return c.Refused.Verdict
	}
	return ""
}

func perGB(name string, c *compare.Cell) string {
	if sum := stat.Summarize(figuresOf(metric(name), c.Runs)); sum != nil {
		return digits3(sum.Median / 1e3)
	}
	return none
}

// beside finds the comparison that a cell's row shows: of what it takes where it is paced, or
// sends, else of how fast it is.
func (s *shortener) beside(c *compare.Cell) (best *compare.Row) {
	if s.Compared == nil {
		return nil
	}
	weight := func(r *compare.Row) int {
		q := questionOf(r)
		if q == nil || r.Mixed() || q.moves != "" {
			return 9
		}
		switch {
		case c.Paced() && r.Factor == "tx" && q.work == "to send", c.Paced() && r.Factor != "tx" &&
			q.work == "to receive":
			return 0
		case !c.Paced() && !q.cost:
			return 1
		case q.cost && r.Work == "" && q.work != "at":
			return 2
		}
		return 9
	}
	for i := range s.Compared.Rows {
		r := &s.Compared.Rows[i]
		if _, b := r.Cells(); b != c || r.Diff.Ratio == nil || weight(r) > 2 {
			continue
		}
		if best == nil || weight(r) < weight(best) {
			best = r
		}
	}
	return best
}

// reference reports whether others are compared with the cell.
func (s *shortener) reference(c *compare.Cell) bool {
	return s.Compared != nil && slices.ContainsFunc(s.Compared.Rows, func(r compare.Row) bool {
		a, _ := r.Cells()
		return a == c && !r.Mixed()
	})
}

// ratioText says of what a ratio is, and to which cell.
func (s *shortener) ratioText(r *compare.Row) string {
	text := questionOf(r).short + " " + times(r.Diff.Ratio.Value)
	if iv := interval(r.Diff.Ratio); iv != "" {
		text += " " + iv
	}
	to := r.A.RX + "/" + r.A.TX
	switch {
	case s.Set == nil:
		to = "A"
	case r.Factor == "rx":
		to = r.A.RX
	case r.Factor == "tx":
		to = r.A.TX
	case r.Factor != "":
		_, to = s.names(r)
		to = strings.TrimPrefix(to, r.Factor+"=")
	}
	return text + " of " + to
}

func verdictText(r *compare.Row) string {
	switch st := stateOf(r, questionOf(r)); {
	case st == stEqual:
		return string(same)
	case st == stHeld || r.AtLimit != "" && r.Verdict == compare.Unsure:
		return "held up"
	case r.Verdict == compare.Unsure:
		return string(open)
	}
	return string(r.Verdict)
}

// doubts are what cannot be told, in a line as wide as this, and what has no number, in another.
func (s *shortener) doubts(wide int) (lines []string) {
	var items []string
	for _, x := range s.untold {
		t := s.of[x.row]
		who := t.b + " beside " + t.a
		if t.sender {
			who = "sender " + who
		}
		if w := t.where(x.row); w != "" {
			who += " " + w
		}
		item := who + " " + in(x.kind, []told{x})
		switch b := x.row.Bounds(); {
		case x.state == stFew, x.state == stOpen && b == nil:
			item += " (too few runs)"
		case x.state == stOpen && b != nil:
			item += fmt.Sprintf(" (at most %s apart)", ceil(max(*b.Hi-1, 1 / *b.Lo - 1)))
		case x.state == stHeld:
			item += " (" + compare.AtLimit(x.row.AtLimit) + ")"
		case x.state == stSilent:
			continue
		}
		if !slices.Contains(items, item) {
			items = append(items, item)
		}
	}
	if line := fit("Not told: ", items, wide); line != "" {
		lines = append(lines, line+s.wanted(wide-utf8.RuneCountInString(line)))
	}
	if line := fit("Without a number: ", s.numberless(), wide); line != "" {
		lines = append(lines, line)
	}
	return lines
}

// wanted says how many runs of each would find a difference that matters, where there is room for
// it.
func (s *shortener) wanted(room int) string {
	runs := 0
	for _, x := range s.answer.In(Open) {
		runs = max(runs, x.RunsNeeded)
	}
	text := fmt.Sprintf(" %d runs of each find one of %g %%.", runs, 100*s.Compared.Effect())
	if runs == 0 || utf8.RuneCountInString(text) > room {
		return ""
	}
	return text
}

// numberless names the cells without a number, by what became of their runs.
func (s *shortener) numberless() (items []string) {
	names, verdicts, seen := map[results.Verdict][]string{}, []results.Verdict(nil), map[string]bool{}
	var reason string
	for _, stop := range s.Stops {
		for _, id := range stop.Cells {
			if seen[id] || s.shown[id] || !s.silent(id) {
				continue
			}
			seen[id] = true
			if names[stop.Verdict] == nil {
				verdicts = append(verdicts, stop.Verdict)
			}
			names[stop.Verdict] = append(names[stop.Verdict], id)
			reason = stop.Reason
		}
	}
	for _, v := range verdicts {
		name := few(names[v])
		if utf8.RuneCountInString(name) > Wide/2 {
			name = plural(len(names[v]), "cell")
		}
		items = append(items, name+" "+string(v))
	}
	if len(seen) == 1 && reason != "" {
		items[0] += ": " + strings.TrimSuffix(reason, ".")
	}
	return items
}

// silent reports whether a cell has no run that counts.
func (s *shortener) silent(id string) bool {
	return s.Set != nil && slices.ContainsFunc(s.Set.Cells, func(c compare.Cell) bool {
		return c.Cell.ID == id && len(c.Runs) == 0 && c.Cell.Control == ""
	})
}

// fit puts as many items into a line as there is room for.
func fit(begin string, items []string, wide int) string {
	if len(items) == 0 {
		return ""
	}
	line := begin
	for i, item := range items {
		item = plaintext.Line(item)
		more := ""
		if left := len(items) - i - 1; left > 0 {
			more = fmt.Sprintf("; and %d more", left)
		}
		sep := "; "
		if i == 0 {
			sep = ""
		}
		if utf8.RuneCountInString(line+sep+item+more+".") > wide {
			if i == 0 {
				room := wide - utf8.RuneCountInString(begin+" ..."+more+".")
				return begin + string([]rune(item)[:max(0, min(room, utf8.RuneCountInString(item)))]) + " ..." +
					more + "."
			}
			return line + fmt.Sprintf("; and %d more.", len(items)-i)
		}
		line += sep + item
	}
	return line + "."
}
