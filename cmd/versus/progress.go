// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"io"
	"time"

	"github.com/zcbench/zcbench/bench/matrix"
)

// startCost is what a run takes beside its duration, roughly.
const startCost = 150 * time.Millisecond

// progress shows the plan's course, one line a run.
type progress struct {
	w         io.Writer
	pairs, at int
}

func newProgress(w io.Writer) *progress { return &progress{w: w} }

func (p *progress) begin(pairs int, d time.Duration) {
	p.pairs = pairs
	fmt.Fprintf(p.w, "%d pairs of runs, about %v, longer when others disturb; Ctrl-C shows what there is until then\n",
		pairs, (2 * time.Duration(pairs) * (d + startCost)).Round(time.Second))
}

func (p *progress) run(comparison, contender string, at matrix.Place) {
	what := fmt.Sprintf("#%d", at.Rep+1)
	if at.Warmup {
		what = "warm-up"
	}
	fmt.Fprintf(p.w, "[%*d/%d] %-14s %-8s %-26s", len(fmt.Sprint(p.pairs)), p.at, p.pairs, comparison, what, contender)
}

func (p *progress) ran(m Measured, err error) {
	if err != nil {
		fmt.Fprintln(p.w, " failed")
		return
	}
	fmt.Fprintf(p.w, " %6.1f Gbit/s  rx %.3f  tx %.3f s/GB  others %.2f cores\n", m.Gbps, m.RxCPUPGB, m.TxCPUPGB, m.Foreign)
}

func (p *progress) end() { fmt.Fprintln(p.w) }
