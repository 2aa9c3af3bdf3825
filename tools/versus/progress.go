// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"io"
	"time"

	"github.com/zcbench/zcbench/plan/matrix"
)

// startCost is what a run takes beside its duration, roughly.
const startCost = 150 * time.Millisecond

// progress shows the plan's course, one line a run.
type progress struct {
	w       io.Writer
	all, at int // runs
}

func newProgress(w io.Writer) *progress { return &progress{w: w} }

// begin shows what is ahead, which takes so long.
func (p *progress) begin(turns []turn, all time.Duration) {
	for _, t := range turns {
		p.all += len(t.runs)
	}
	fmt.Fprintf(p.w, "%d runs, about %v, longer when others disturb; Ctrl-C shows what there is until then\n", p.all,
		all.Round(time.Second))
}

// together shows that n flows begin, which take turns.
func (p *progress) together(group string, n int) {
	fmt.Fprintf(p.w, "%s: %d flows in turns\n", group, n)
}

func (p *progress) run(group, way string, at matrix.Place) {
	what := fmt.Sprintf("#%d", at.Rep+1)
	if at.Warmup {
		what = "warm-up"
	}
	p.at++ // more than all, where some are run again
	fmt.Fprintf(p.w, "[%*d/%d] %-18s %-8s %-30s", len(fmt.Sprint(p.all)), p.at, p.all, group, what, way)
}

func (p *progress) ran(m Measured, err error) {
	if err != nil {
		fmt.Fprintln(p.w, " failed")
		return
	}
	fmt.Fprintf(p.w, " %6.1f Gbit/s  cpu %.3f (rx %.3f  tx %.3f) s/GB  others %.2f cores\n", m.Gbps, m.CPUPGB,
		m.RxCPUPGB, m.TxCPUPGB, m.Foreign)
}

func (p *progress) end() { fmt.Fprintln(p.w) }
