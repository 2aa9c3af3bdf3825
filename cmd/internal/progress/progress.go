// SPDX-License-Identifier: MIT

// Package progress shows the course of a plan. It stands apart from package cli so
// that the small commands do not carry the terminal library, whose start-up costs
// tens of milliseconds of CPU time.
package progress

import (
	"fmt"
	"io"
	"time"

	"github.com/cheggaaa/pb/v3"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// New shows a plan's course: a bar on a terminal, else a line a run.
func New(w io.Writer) bench.Progress {
	if t := cli.Terminal(w); t != nil {
		return &barProgress{w: t}
	}
	return &lineProgress{w: w}
}

func count(runs int) string {
	if runs == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", runs)
}

// what names a run for people. The bar writes past the filter of all output.
func what(c plan.Cell, rep int, warmup bool) string {
	id := plaintext.Line(c.ID)
	if warmup {
		return id + " warm-up"
	}
	return fmt.Sprintf("%s #%d", id, rep+1)
}

// how describes how a run ended.
func how(r results.Record) string {
	if v := r.LossFreeRate(); v != nil && r.Verdict == results.OK {
		return fmt.Sprintf("%.1f kpps without loss, %d trials", *v/1e3, r.LossFree.Trials)
	}
	if f, ok := figureOf(&r); ok && r.Verdict == results.OK {
		return f.number(1) + " " + f.unit
	}
	if r.Expected {
		return "copied, as always on this path"
	}
	return plaintext.Line(string(r.Verdict))
}

type lineProgress struct {
	w       io.Writer
	n, runs int
	begun   time.Time
	cells   map[string]*cellRow // by ID
}

func (p *lineProgress) Plan(runs int, estimate time.Duration) {
	p.n, p.runs, p.begun, p.cells = 0, runs, time.Now(), map[string]*cellRow{}
	fmt.Fprintf(p.w, "%s, about %v\n", count(runs), estimate.Round(time.Second))
}

func (p *lineProgress) Begin(matrix.Run) {}

func (p *lineProgress) Done(r results.Record) {
	p.n++
	fmt.Fprintf(p.w, "[%3d/%d] %-30s %s%s%s\n", p.n, p.runs, what(r.Cell, r.Rep, r.Warmup), how(r), p.median(r),
		p.left())
}

// median formats the median of the cell's runs so far, from the second one on.
func (p *lineProgress) median(r results.Record) string {
	id := r.Cell.ID
	if p.cells[id] == nil {
		p.cells[id] = &cellRow{}
	}
	c := p.cells[id]
	c.add(&r)
	f, _ := c.figure()
	if len(c.values) < 2 || r.Verdict != results.OK {
		return ""
	}
	unit := "" // that of the run's own figure, just before
	if r.LossFreeRate() != nil {
		unit = " " + f.unit
	}
	return ", median " + f.number(1) + unit
}

func (p *lineProgress) Skip(r matrix.Run) {
	p.runs--
	fmt.Fprintf(p.w, "[%3d/%d] %-30s not needed: its interval is narrow enough\n", p.n, p.runs,
		what(r.Cell, r.Rep, r.Warmup))
}

// left formats the time left, at the pace so far.
func (p *lineProgress) left() string {
	if p.n >= p.runs || p.n == 0 {
		return ""
	}
	d := time.Since(p.begun) / time.Duration(p.n) * time.Duration(p.runs-p.n)
	return fmt.Sprintf(" (%v left)", d.Round(time.Second))
}

func (p *lineProgress) Again(matrix.Run) { p.runs++ }

func (p *lineProgress) End() {}

type barProgress struct {
	w    io.Writer
	bar  *pb.ProgressBar
	last string
}

const barTemplate pb.ProgressBarTemplate = "" +
	`{{counters . }} {{bar . "[" "=" ">" " " "]"}} {{rtime . "%s left"}}  {{string . "what"}}`

func (p *barProgress) Plan(runs int, estimate time.Duration) {
	fmt.Fprintf(p.w, "%s, about %v; Ctrl-C ends early and keeps what is finished\n", count(runs),
		estimate.Round(time.Second))
	p.bar = barTemplate.New(runs).SetWriter(p.w).SetRefreshRate(200 * time.Millisecond).SetMaxWidth(100).Start()
}

func (p *barProgress) Begin(r matrix.Run) {
	p.bar.Set("what", what(r.Cell, r.Rep, r.Warmup && !r.Trial)+p.last)
}

func (p *barProgress) Done(r results.Record) {
	p.last = " (last: " + how(r) + ")"
	p.bar.Increment()
}

func (p *barProgress) Skip(matrix.Run) { p.bar.SetTotal(p.bar.Total() - 1) }

func (p *barProgress) Again(matrix.Run) { p.bar.SetTotal(p.bar.Total() + 1) }

func (p *barProgress) End() { p.bar.Finish() }
