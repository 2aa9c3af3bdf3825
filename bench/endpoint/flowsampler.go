// SPDX-License-Identifier: MIT

package endpoint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// The probe tcp asks each socket 500 times in a run, but at most 100 and at least 10 times a
// second; where that were more than mostFlowPoints of all series, less often.
const (
	flowSamples    = 500
	flowLeast      = 10 * time.Millisecond
	flowMost       = 100 * time.Millisecond
	mostFlowPoints = 100_000
)

// flowInterval chooses how often to sample in a run of a length with so many flows, and how often
// it should.
func flowInterval(length time.Duration, flows int) (interval, wish time.Duration) {
	wish = min(max(length/flowSamples, flowLeast), flowMost)
	fits := length / mostFlowPoints * time.Duration(flows*counter.FlowFigures())
	if fits <= wish {
		return wish, wish
	}
	return fits.Truncate(time.Millisecond) + time.Millisecond, wish
}

// turnsApart chooses of how many turns one is sampled: an odd number, since a cell has two turns in
// a round, which others follow and precede.
func turnsApart(turns, flows int) int {
	points := turns * flows * counter.FlowFigures()
	return (points+mostFlowPoints-1)/mostFlowPoints | 1
}

func (r *run) startFlowSampler() {
	sockets := r.end.streams()
	if !slices.Contains(r.end.spec.Cell.Probes(), plan.ProbeTCP) || len(sockets) == 0 {
		return
	}
	if t := r.sch.Turns; t != nil { // one of each turn, or of every so many
		turn, every := duration(t.LeadNs+t.OnNs), turnsApart(r.sch.InWindow(), len(sockets))
		if every > 1 {
			r.warnings = append(r.warnings,
				fmt.Sprintf("the tcp probe samples one of %d turns: samples of %d flows in "+
					"all %d would not fit", every, len(sockets), r.sch.InWindow()))
		}
		r.tcp = counter.OpenFlowSampler(counter.FlowSamplerConfig{Sockets: sockets,
			Interval: time.Duration(every) * turn,
			Expect:   time.Duration(r.sch.InWindow()) * turn, Every: every})
		return
	}
	length := duration(r.stopNs()-r.startNs) + time.Second
	interval, wish := flowInterval(length, len(sockets))
	if interval != wish {
		r.warnings = append(r.warnings,
			fmt.Sprintf("the tcp probe samples every %v instead of %v: samples of %d flows over %v would not fit",
				interval, wish, len(sockets), length))
	}
	r.tcp = counter.StartFlowSampler(counter.FlowSamplerConfig{Sockets: sockets, Interval: interval, Expect: length})
}

// plotPoints are as many as a plot over time needs.
const plotPoints = 120

// thinFlow thins the series for the record itself, which has those of the first flow.
func thinFlow(all []measure.Series) (out []measure.Series) {
	for i := range all {
		s := all[i].Thin(plotPoints)
		s.Name = strings.TrimPrefix(s.Name, measure.FlowMetric(0, ""))
		if strings.HasPrefix(s.Name, "tcp_") && len(s.T) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// addFlowSamples adds what the probe tcp drew, and returns the cores that it took; nil: it did
// not run.
func (r *run) addFlowSamples(h *results.Host) (cores *float64) {
	if r.tcp == nil {
		return nil
	}
	s := r.tcp.Samples(r.from.atNs)
	h.Series, h.Metrics = append(h.Series, s.Series...), append(h.Metrics, s.Metrics...)
	r.warnings = append(r.warnings, s.Warnings...)
	return &s.Metrics[0].Value
}
