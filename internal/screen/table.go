// SPDX-License-Identifier: MIT

package screen

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/zcbench/zcbench/internal/plaintext"
)

// Table is rows of cells, and lines of text between them. Where its rows are too wide for the
// terminal, the last column's words are folded and long names in the first have lines of their own.
// Where that is not enough, each row becomes a block of headings and cells, so that none is lost.
// The texts are the terminal's already: [plaintext.Line] has seen them.
type Table struct {
	format string // of rows where there is no terminal; "": as wide as their cells
	right  []bool // columns whose cells end at the right
	gap    int
	heads  int
	lines  []line
}

// line is a row, or text.
type line struct {
	cells             []string
	first, rest, text string
	whole             bool // the text is a line, unless the terminal is too narrow for it
}

// Aligned makes a table of columns that are as wide as their cells: a < or > for each.
func Aligned(columns string) *Table {
	t := &Table{gap: 2}
	for _, c := range columns {
		t.right = append(t.right, c == '>')
	}
	return t
}

// Formatted makes a table whose rows, where there is no terminal, are of this format, one %s
// with its width for each column.
func Formatted(format string) *Table {
	t := &Table{format: format, gap: 2}
	for _, verb := range strings.Split(format, "%")[1:] {
		t.right = append(t.right, !strings.HasPrefix(verb, "-") && verb[0] != 's')
	}
	return t
}

// Head adds a line of headings.
func (t *Table) Head(cells ...string) { t.heads++; t.Row(cells...) }

// Row adds a row. One may have fewer cells than the table has columns.
func (t *Table) Row(cells ...string) { t.lines = append(t.lines, line{cells: cells}) }

// Text adds text between rows, whose first line begins with first, and the others with rest.
func (t *Table) Text(first, rest, text string) {
	t.lines = append(t.lines, line{first: first, rest: rest, text: text})
}

// Line adds text as [Line] writes it.
func (t *Table) Line(first, rest, text string) {
	t.lines = append(t.lines, line{first: first, rest: rest, text: text, whole: true})
}

// Write writes the table as w has room for it.
func (t *Table) Write(w io.Writer) error {
	var b strings.Builder
	columns := Columns(w)
	row := t.plain()
	if columns > 0 {
		row = t.fitted(columns)
	}
	for i, l := range t.lines {
		switch {
		case l.whole:
			b.WriteString(lineOf(columns, l.first, l.rest, l.text))
			continue
		case l.cells == nil:
			b.WriteString(plaintext.WrapTo(prose(columns), l.first, l.rest, l.text))
			continue
		}
		b.WriteString(row(i, l.cells))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// rows returns the cells of the rows, those of the headings first.
func (t *Table) rows() (all [][]string) {
	for _, l := range t.lines {
		if l.cells != nil {
			all = append(all, l.cells)
		}
	}
	return all
}

// plain lays out rows for no terminal.
func (t *Table) plain() func(int, []string) string {
	if t.format != "" {
		return func(_ int, cells []string) string {
			v := make([]any, len(t.right))
			for i := range v {
				v[i] = ""
			}
			for i, c := range cells {
				v[i] = c
			}
			return strings.TrimRight(fmt.Sprintf(t.format, v...), " ") + "\n"
		}
	}
	var b strings.Builder
	flags, end := uint(0), ""
	if t.right[0] && t.right[len(t.right)-1] {
		flags, end = tabwriter.AlignRight, "\t"
	}
	tw := tabwriter.NewWriter(&b, 0, 0, t.gap, ' ', flags)
	for _, cells := range t.rows() {
		fmt.Fprintln(tw, strings.Join(cells, "\t")+end)
	}
	tw.Flush()
	lines, at := strings.Split(b.String(), "\n"), 0
	return func(int, []string) string {
		at++
		return strings.TrimRight(lines[at-1], " ") + "\n"
	}
}

// layout is how rows fit a terminal.
type layout struct {
	widths []int
	gap    int
	last   int // columns for the last cell, whose words are folded
}

// shortest is in how few columns the words of the last are folded.
const shortest = 24

// fitted lays out rows for a terminal.
func (t *Table) fitted(columns int) func(int, []string) string {
	for _, gap := range []int{t.gap, 1} {
		if l := t.layout(columns, gap); l != nil {
			return func(_ int, cells []string) string { return t.row(l, cells, columns) }
		}
	}
	seen := 0
	return func(_ int, cells []string) string {
		if seen++; seen <= t.heads {
			return ""
		}
		return t.block(cells, columns)
	}
}

// layout finds widths that fit; nil: there are none.
func (t *Table) layout(columns, gap int) *layout {
	n := len(t.right)
	l := &layout{widths: make([]int, n), gap: gap}
	rows := t.rows()
	for _, r := range rows {
		for i, c := range r {
			l.widths[i] = max(l.widths[i], utf8.RuneCountInString(c))
		}
	}
	total := gap * (n - 1)
	for _, w := range l.widths {
		total += w
	}
	over := total - columns
	l.last = l.widths[n-1]
	if over > 0 && n > 1 && !t.right[n-1] {
		longest := shortest // a word that does not fit would run over
		for _, r := range rows {
			if len(r) == n {
				for word := range strings.FieldsSeq(r[n-1]) {
					longest = max(longest, utf8.RuneCountInString(word))
				}
			}
		}
		if less := max(l.last-over, min(longest, l.last)); less < l.last {
			over -= l.last - less
			l.last = less
		}
	}
	if over > 0 && !t.right[0] {
		room, longest := l.widths[0]-over, 0 // room for names that share a line with their figures
		for i, r := range rows {
			if n := utf8.RuneCountInString(r[0]); n <= room {
				longest = max(longest, n)
			} else if i < t.heads {
				return nil
			}
		}
		l.last = min(l.widths[n-1], l.last+room-longest)
		l.widths[0], over = longest, 0
	}
	if over > 0 {
		return nil
	}
	return l
}

// row lays out one row, in more lines where it has a long name or many words.
func (t *Table) row(l *layout, cells []string, columns int) string {
	var b strings.Builder
	if utf8.RuneCountInString(cells[0]) > l.widths[0] {
		b.WriteString(plaintext.WrapTo(columns, "", "  ", cells[0]))
		cells = append([]string{""}, cells[1:]...)
	}
	var out strings.Builder
	last := len(t.right) - 1
	for i, c := range cells {
		if i > 0 {
			out.WriteString(strings.Repeat(" ", l.gap))
		}
		pad := strings.Repeat(" ", max(0, l.widths[i]-utf8.RuneCountInString(c)))
		switch {
		case i == last && !t.right[i] && utf8.RuneCountInString(c) > l.last:
			line := out.String()
			b.WriteString(trimmed(plaintext.WrapTo(utf8.RuneCountInString(line)+l.last, line,
				strings.Repeat(" ", utf8.RuneCountInString(line)), c)))
			return b.String()
		case t.right[i]:
			out.WriteString(pad + c)
		default:
			out.WriteString(c + pad)
		}
	}
	b.WriteString(trimmed(out.String() + "\n"))
	return b.String()
}

func trimmed(lines string) string {
	var b strings.Builder
	for l := range strings.Lines(lines) {
		b.WriteString(strings.TrimRight(l, " \n") + "\n")
	}
	return b.String()
}

// block writes a row as its name, and then heading and cell of each column.
func (t *Table) block(cells []string, columns int) string {
	var heads [][]string
	if t.heads > 0 {
		heads = t.rows()[:t.heads]
	}
	var b strings.Builder
	from, first := 0, ""
	if !t.right[0] {
		b.WriteString(plaintext.WrapTo(columns, "", "    ", cells[0]))
		from, first = 1, "  "
	}
	at, open := first, false
	for i := from; i < len(cells); i++ {
		if cells[i] == "" {
			continue
		}
		words := cells[i]
		for k := len(heads) - 1; k >= 0; k-- {
			if i < len(heads[k]) && heads[k][i] != "" {
				words = heads[k][i] + " " + words
			}
		}
		if more := func() bool {
			for _, c := range cells[i+1:] {
				if c != "" {
					return true
				}
			}
			return false
		}(); more {
			words += ","
		}
		if open && utf8.RuneCountInString(at)+1+utf8.RuneCountInString(words) > columns {
			b.WriteString(folded(at, columns))
			at, open = "  ", false
		}
		if open {
			at += " "
		}
		at, open = at+words, true
	}
	if open {
		b.WriteString(folded(at, columns))
	}
	return b.String()
}

// folded breaks a line of words that is too long by itself.
func folded(at string, columns int) string {
	indent := at[:len(at)-len(strings.TrimLeft(at, " "))]
	return plaintext.WrapTo(columns, indent, indent+"  ", at)
}
