// SPDX-License-Identifier: MIT

package progress

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// Cells shows a plan's course with a line for each cell, which has its running median: on a
// terminal that can move its cursor; else a line a run, as [New] does.
func Cells(w io.Writer) bench.Progress {
	t := cli.Terminal(w)
	if t == nil || os.Getenv("TERM") == "dumb" {
		return &lineProgress{w: w}
	}
	return &cellProgress{w: t, size: func() (int, int) { return sizeOf(t) }, colour: os.Getenv("NO_COLOR") == ""}
}

// sizeOf asks a terminal for its columns and lines; where it does not know, 80 and 24.
func sizeOf(t *os.File) (columns, lines int) {
	columns, lines = 80, 24
	ws, err := unix.IoctlGetWinsize(int(t.Fd()), unix.TIOCGWINSZ)
	if err == nil && ws.Col > 0 {
		columns = int(ws.Col)
	}
	if err == nil && ws.Row > 0 {
		lines = int(ws.Row)
	}
	return columns, lines
}

// cellProgress draws the same lines again and again. It writes past the filter of all output, so
// every text of others has been through [plaintext.Line].
type cellProgress struct {
	w      io.Writer
	size   func() (columns, lines int)
	colour bool

	mu       sync.Mutex
	rows     []*cellRow
	at       map[string]*cellRow // by the cell's ID, which is one in a plan
	now      *cellRow            // nil: none is under way
	what     string              // the run under way
	n, runs  int
	begun    time.Time
	estimate time.Duration
	drawn    int // lines that are there already
	stop     chan struct{}
	ended    sync.WaitGroup
}

// Beside returns a writer for lines that come while p shows a plan's course on w: what redraws
// itself would wipe out what others write there.
func Beside(p bench.Progress, w io.Writer) io.Writer {
	if c, ok := p.(*cellProgress); ok {
		return c
	}
	return w
}

// Write writes whole lines of others above the course.
func (p *cellProgress) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b strings.Builder
	shown := p.drawn > 0
	if shown {
		fmt.Fprintf(&b, "\x1b[%dA\r\x1b[J", p.drawn)
	}
	for l := range strings.Lines(string(text)) {
		b.WriteString(plaintext.Line(strings.TrimRight(l, "\r\n")) + "\n")
	}
	_, err := io.WriteString(p.w, b.String())
	if p.drawn = 0; shown {
		p.draw()
	}
	return len(text), err
}

// cellRow is what is known of a cell so far.
type cellRow struct {
	rx, tx  string
	values  []float64 // figures of the runs that count, in order of size
	warm    float64   // of the warm-up, until there are others
	unit    string    // of all of these
	remark  string    // of runs that gave no number
	bad     int       // how many that are
	verdict results.Verdict
}

func (p *cellProgress) Plan(runs int, estimate time.Duration) {
	fmt.Fprintf(p.w, "%s, about %v; Ctrl-C ends early and keeps what is finished\n", count(runs),
		estimate.Round(time.Second))
	p.rows, p.at, p.now = nil, map[string]*cellRow{}, nil
	p.n, p.runs, p.begun, p.estimate, p.drawn = 0, runs, time.Now(), estimate, 0
	p.stop = make(chan struct{})
	p.ended.Go(p.tick)
}

// tick keeps the time that is shown right.
func (p *cellProgress) tick() {
	t := time.NewTicker(500 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			p.change(func() {})
		case <-p.stop:
			return
		}
	}
}

// change does something and shows it.
func (p *cellProgress) change(what func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	what()
	p.draw()
}

func (p *cellProgress) row(c plan.Cell) *cellRow {
	if p.at[c.ID] == nil {
		p.at[c.ID] = &cellRow{rx: plaintext.Line(c.RX), tx: plaintext.Line(c.TX)}
		p.rows = append(p.rows, p.at[c.ID])
	}
	return p.at[c.ID]
}

func (p *cellProgress) Begin(r matrix.Run) {
	p.change(func() {
		p.now = p.row(r.Cell)
		p.what = fmt.Sprintf("%s from %s, run %d", p.now.rx, p.now.tx, r.Rep+1)
		if r.Warmup && !r.Trial {
			p.what = fmt.Sprintf("%s from %s, warm-up", p.now.rx, p.now.tx)
		}
	})
}

func (p *cellProgress) Done(r results.Record) {
	p.change(func() {
		p.n++
		p.now = nil
		if r.Verdict != results.Unsupported { // which was not begun, and has no line
			p.row(r.Cell).add(&r)
		}
	})
}

func (p *cellProgress) Skip(matrix.Run)  { p.change(func() { p.runs-- }) }
func (p *cellProgress) Again(matrix.Run) { p.change(func() { p.runs++ }) }

// End takes the lines away: what comes next says it better.
func (p *cellProgress) End() {
	close(p.stop)
	p.ended.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn > 0 {
		fmt.Fprintf(p.w, "\x1b[%dA\r\x1b[J", p.drawn)
	}
	fmt.Fprintf(p.w, "%s in %s\n", count(p.n), clock(time.Since(p.begun)))
	p.drawn = 0
}

// add takes a run in.
func (r *cellRow) add(rec *results.Record) {
	f, ok := figureOf(rec)
	switch {
	case rec.Verdict == results.OK && ok && rec.Warmup:
		r.warm, r.unit = f.v, f.unit
	case rec.Verdict == results.OK && ok:
		at, _ := slices.BinarySearch(r.values, f.v)
		r.values, r.unit = slices.Insert(r.values, at, f.v), f.unit
	case rec.Expected:
		r.verdict, r.remark = results.Invalid, "copied, as always on this path"
	default:
		r.bad++
		r.verdict, r.remark = rec.Verdict, fmt.Sprintf("%d %s", r.bad, plaintext.Line(string(rec.Verdict)))
	}
}

// figure computes the running median; ok is false while there is none.
func (r *cellRow) figure() (f figure, ok bool) {
	switch n := len(r.values); {
	case n == 0:
		return figure{r.warm, r.unit}, r.warm > 0
	case n%2 == 1:
		return figure{r.values[n/2], r.unit}, true
	default:
		return figure{(r.values[n/2-1] + r.values[n/2]) / 2, r.unit}, true
	}
}

// The colours, as terminals number them.
const (
	plain  = 0
	bold   = 1
	red    = 31
	green  = 32
	yellow = 33
)

// part is a piece of a line in a colour.
type part struct {
	colour int
	text   string
}

// line puts parts together, no more than fit into so many columns.
func (p *cellProgress) line(columns int, parts ...part) string {
	var b strings.Builder
	for _, x := range parts {
		text := []rune(x.text)
		text = text[:min(len(text), max(columns, 0))]
		if columns -= len(text); len(text) == 0 {
			continue
		}
		if x.colour == plain || !p.colour {
			b.WriteString(string(text))
		} else {
			fmt.Fprintf(&b, "\x1b[%dm%s\x1b[0m", x.colour, string(text))
		}
	}
	return b.String()
}

// draw writes all lines over those that are there.
func (p *cellProgress) draw() {
	columns, lines := p.size()
	columns-- // a line that fills the last column may wrap
	var b strings.Builder
	if p.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", p.drawn)
	}
	most := map[string]float64{} // by unit
	for _, r := range p.rows {
		f, _ := r.figure()
		most[f.unit] = max(most[f.unit], f.v)
	}
	all := []string{p.line(columns, p.head()...)}
	for _, r := range p.window(lines - 2) {
		all = append(all, p.line(columns, p.cell(r, most)...))
	}
	for _, l := range all {
		b.WriteString("\r" + l + "\x1b[K\n")
	}
	b.WriteString("\x1b[J")
	p.drawn = len(all)
	io.WriteString(p.w, b.String())
}

// window selects the rows that there is room for, with the one under way.
func (p *cellProgress) window(most int) []*cellRow {
	most = max(most, 1)
	if len(p.rows) <= most {
		return p.rows
	}
	from := max(slices.Index(p.rows, p.now)-most+1, 0)
	return p.rows[from : from+most]
}

// head builds the first line: how far it is, and what is being done.
func (p *cellProgress) head() []part {
	const width = 16
	done := 0
	if p.runs > 0 {
		done = min(width*p.n/p.runs, width)
	}
	bar := "[" + strings.Repeat("=", done) + strings.Repeat(" ", width-done) + "]"
	text := fmt.Sprintf(" %d/%d  %s of about %s", p.n, p.runs, clock(time.Since(p.begun)), clock(p.about()))
	if p.now != nil {
		text += "  " + p.what
	}
	return []part{{bold, bar}, {plain, text}}
}

// about estimates how long it all takes: as planned, until the pace of the runs says more.
func (p *cellProgress) about() time.Duration {
	const enough = 5
	if p.n < enough || p.n >= p.runs {
		return max(p.estimate, time.Since(p.begun))
	}
	return max(p.estimate, time.Since(p.begun)/time.Duration(p.n)*time.Duration(p.runs))
}

// cell builds the line of a cell.
func (p *cellProgress) cell(r *cellRow, most map[string]float64) []part {
	mark := part{plain, "  "}
	if r == p.now {
		mark = part{bold, "> "}
	}
	name := part{plain, fmt.Sprintf("%-10s %-12s ", r.rx, r.tx)}
	f, ok := r.figure()
	if !ok {
		return []part{mark, name, {colourOf(r.verdict), r.remark}}
	}
	of := "warm-up"
	if n := len(r.values); n > 0 {
		of = fmt.Sprintf("median of %d", n)
	}
	const width = 24
	bar := strings.Repeat("#", max(int(width*f.v/most[f.unit]+0.5), 1))
	parts := []part{mark, name, {bold, fmt.Sprintf("%7s", f.number(2))}, {plain, fmt.Sprintf(" %s %-12s ", f.unit, of)}}
	if r.remark != "" {
		return append(parts, part{colourOf(r.verdict), "also " + r.remark})
	}
	return append(parts, part{green, bar})
}

func colourOf(v results.Verdict) int {
	switch v {
	case results.Failed:
		return red
	case results.Invalid:
		return yellow
	}
	return plain
}

// clock formats minutes and seconds.
func clock(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
