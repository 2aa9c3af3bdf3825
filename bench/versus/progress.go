package main

import (
	"fmt"
	"io"
	"time"
)

// startCost is what a run takes beside its duration, roughly.
const startCost = 150 * time.Millisecond

// progress shows the plan's course, one line a run.
type progress struct {
	w    io.Writer
	n, m int
}

func newProgress(w io.Writer) *progress { return &progress{w: w} }

func (p *progress) begin(runs int, d time.Duration) {
	p.m = runs
	fmt.Fprintf(p.w, "%d runs, about %v; Ctrl-C shows what there is until then\n", runs, (time.Duration(runs) * (d + startCost)).Round(time.Second))
}

func (p *progress) run(comparison, contender string, rep int) {
	p.n++
	what := fmt.Sprintf("#%d", rep+1)
	if rep < 0 {
		what = "warm-up"
	}
	fmt.Fprintf(p.w, "[%*d/%d] %-15s %-8s %-26s", len(fmt.Sprint(p.m)), p.n, p.m, comparison, what, contender)
}

func (p *progress) ran(m Measured) {
	fmt.Fprintf(p.w, " %6.1f Gbit/s  rx %.3f  tx %.3f s/GB\n", m.Gbps, m.RxCPUPGB, m.TxCPUPGB)
}

func (p *progress) skip() { p.n++ }

func (p *progress) end() { fmt.Fprintln(p.w) }
