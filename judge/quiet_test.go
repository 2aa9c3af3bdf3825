// SPDX-License-Identifier: MIT

package judge

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// Runs of packets are flagged where the machine was not quiet, and count.
func TestNotQuiet(t *testing.T) {
	foreign := func(low, high, busy float64) []measure.Metric {
		return []measure.Metric{{Name: measure.MetricForeignCores, Of: []string{"1"}, Value: low},
			{Name: measure.MetricForeignMost, Of: []string{"1"}, Value: high},
			{Name: "cpu1_busy_cores", Value: busy}, {Name: "cpu1_uncertainty_cores", Value: .005}}
	}
	stolen := func(name string, v float64) []measure.Metric { return []measure.Metric{{Name: name, Value: v}} }
	for name, x := range map[string]struct {
		metrics  []measure.Metric
		stream   bool // bytes, and no packets
		softirq  bool // no thread polls
		anywhere bool // one does, and nobody knows on which CPUs
		want     string
		atSender bool
		window   float64 // s; 0: 10
	}{
		"quiet": {metrics: append(foreign(.002, .009, 1),
			stolen("cpu1_steal_cores", .004)...)},
		"nothing measured": {},
		"stolen": {metrics: stolen("cpu1_steal_cores", .007),
			want: "SUT: not quiet: 0.70 % of CPU 1 was stolen"},
		"a tick of a short window": {metrics: stolen("cpu1_steal_cores", .01), window: 1},
		"two ticks of it": {metrics: stolen("cpu1_steal_cores", .02), window: 1,
			want: "2.00 % of CPU 1 was stolen"},
		"stolen at the sender": {metrics: stolen("cpu0_steal_cores", .02),
			want: "TG: not quiet: 2.00 % of CPU 0 was stolen", atSender: true},
		"of a stream":         {metrics: stolen("cpu1_steal_cores", .02), stream: true},
		"the sum of all CPUs": {metrics: stolen("cpu_steal_cores", .006)},
		"others, beside a thread": {metrics: foreign(0, .01, 1),
			want: "SUT: not quiet: others kept CPU 1 busy for 1.00 %"},
		"a CPU that rested: ticks' doubt": {metrics: foreign(0, .014, .99)},
		"others on a CPU that rested":     {metrics: foreign(0, .016, .99), want: "others kept CPU 1 busy"},
		"softirqs may be the flow's":      {metrics: foreign(.002, .9, .99), softirq: true},
		"others, beside softirqs": {metrics: foreign(.1, .9, .99), softirq: true,
			want: "others kept CPU 1 busy for 10.00 %"},
		"a thread that is anywhere": {metrics: foreign(0, .95, .99), anywhere: true},
		"others, beside one": {metrics: foreign(.1, .95, .99), anywhere: true,
			want: "others kept CPU 1 busy for 10.00 %"},
	} {
		r := ok(1)
		h := &r.SUT
		if x.atSender {
			h = &r.TG
		}
		if h.Metrics = append(x.metrics, measure.Metric{Name: "cpu_window_s", Value: cmp.Or(x.window, 10)}); !x.stream {
			r.SUT.PacketsPerS = ptr(1e6)
		}
		if !x.softirq {
			h.CPUPollerCores = ptr(.9)
			if !x.anywhere {
				h.Metrics = append(h.Metrics, measure.Metric{Name: measure.MetricPollerCores, Of: []string{"1"},
					Value: .8999}, measure.Metric{Name: measure.MetricPollerOutside})
			}
		}
		Run(plan.Gates{}, &r)
		if r.Verdict != results.OK || slices.Contains(r.Flags, results.FlagNotQuiet) != (x.want != "") ||
			!strings.Contains(strings.Join(r.Warnings, ""), x.want) {
			t.Errorf("%s: %s, flags %q, warnings %q; want %q", name, r.Verdict, r.Flags, r.Warnings, x.want)
		}
	}
}
