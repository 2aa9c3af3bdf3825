// SPDX-License-Identifier: MIT

package judge

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// A run beside which the other thread of its core was busy counts, and says so.
func TestBusySibling(t *testing.T) {
	for _, x := range []struct {
		busy, doubt float64
		flagged     bool
	}{{0, .001, false}, {.05, .001, false}, {.06, .02, false}, {.42, .02, true}} {
		r := results.Record{Verdict: results.OK, Cell: plan.Cell{RX: "tcp", TX: "tcp"}}
		r.TG.Metrics = []measure.Metric{{Name: measure.MetricSiblingBusy, Of: []string{"13"}, Value: x.busy},
			{Name: measure.MetricSiblingUncertainty, Of: []string{"13"}, Value: x.doubt}}
		Run(plan.DefaultGates(), &r)
		says := strings.Join(r.Warnings, "; ")
		if flagged := slices.Contains(r.Flags, results.FlagBusySibling); flagged != x.flagged ||
			r.Verdict != results.OK ||
			x.flagged && !strings.Contains(says,
				"TG: CPU 13, which shares a core with one of the flow's CPUs, was busy for 42 % of the time") {
			t.Errorf("%v: %s, flags %q, %q", x, r.Verdict, r.Flags, says)
		}
	}
}
