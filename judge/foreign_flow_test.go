// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// What others do spoils a run on the flow's CPUs and on the other threads of their cores;
// everywhere else it is background. Of older records, which do not say which CPUs were the flow's,
// and of runs of which it is not known, all measured ones count.
func TestForeignConcernsTheFlow(t *testing.T) {
	on := func(name string, cpu int, v float64) measure.Metric {
		return measure.Metric{Name: name, Of: []string{fmt.Sprint(cpu)}, Value: v, Source: measure.ByTasks}
	}
	load := func(cpu int, v float64) measure.Metric {
		m := on(measure.MetricForeignCores, cpu, v)
		m.Quality = fmt.Sprintf("foreign load %.2f cores on CPU %d: post\x1b[31mgres (pid 812) used %.2f", v, cpu, v)
		return m
	}
	flow := []measure.Metric{on(measure.MetricFlowCores, 3, .9), on(measure.MetricFlowCores, 4, .1)}
	busy := []measure.Metric{{Name: "cpu3_busy_cores", Value: 1}, {Name: "cpu3_soft_cores", Value: .5},
		{Name: "cpu3_uncertainty_cores", Value: .03}, {Name: "cpu_window_s", Value: .4}}
	ticks := load(3, .07)
	ticks.Source, ticks.Quality = "/proc/stat - CLOCK_THREAD_CPUTIME_ID", "foreign load 0.07 cores on CPU 3"
	run := ticks
	run.Source = measure.BySchedstat
	for _, x := range []struct {
		name    string
		metrics []measure.Metric
		want    string // "": it counts
	}{
		{"7 % of a CPU far from the flow", append(flow, load(77, .07)), ""},
		{"all of a CPU far from the flow", append(flow, load(77, 1)), ""},
		{"79 % of the flow's CPU", append(flow, load(3, .79)),
			"SUT: foreign load 0.79 cores on CPU 3 (limit 0.05): most of it post\\u001b[31mgres"},
		{"7 % of its softirq's CPU", append(flow, load(4, .07)), "on CPU 4"},
		{"little of the flow's CPU", append(flow, load(3, .04)), ""},
		{"the other thread of its core", append(flow, load(51, .3), on(measure.MetricSiblingBusy, 51, .3)),
			"on CPU 51"},
		{"nobody knows which CPUs are the flow's", []measure.Metric{load(77, .07)}, "on CPU 77"},
		{"exact: no tick's doubt", append(append(flow, busy...), load(3, .07)), "on CPU 3"},
		{"ticks: too short to tell", append(append(flow, busy...), ticks), ""},
		{"what tasks ran: the same", append(append(flow, busy...), run), ""},
	} {
		r := ok(10)
		r.SUT.Metrics = x.metrics
		Run(plan.DefaultGates(), &r)
		if spoilt := r.Verdict == results.Invalid; spoilt != (x.want != "") || !strings.Contains(r.Reason, x.want) ||
			spoilt && r.Gate != plan.ByEnvironment {
			t.Errorf("%s: %s by %s: %q, want %q", x.name, r.Verdict, r.Gate, r.Reason, x.want)
		}
	}
}

// A CPU that only others kept busy limits nobody.
func TestFullCPUsOfTheFlow(t *testing.T) {
	h := results.Host{Metrics: []measure.Metric{{Name: "cpu3_busy_cores", Value: .5},
		{Name: "cpu77_busy_cores", Value: 1}}}
	if got := fullCPUs(&h); len(got) != 1 || got[0] != "77" {
		t.Errorf("unknown: %v", got)
	}
	h.Metrics = append(h.Metrics, measure.Metric{Name: measure.MetricFlowCores, Of: []string{"3"}, Value: .5})
	if got := fullCPUs(&h); got != nil {
		t.Errorf("%v", got)
	}
}
