// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results/plantest"
)

// Who polled stands in reports where a cell says who is to, of all cells, of the ends that tell.
func TestPolledTable(t *testing.T) {
	made := func(poll string) string {
		busy := plantest.Modes("tcp", "tcp")
		busy.ID, busy.Poll = "busy", poll
		j := plantest.Journal(7, 8, plantest.Cell{Cell: plantest.Modes("tcp", "tcp"), Gbps: 20, Cores: 1},
			plantest.Cell{Cell: busy, Gbps: 20, Cores: 1})
		for i := range j.Records {
			r := &j.Records[i]
			app, irqs := 0., 12345.
			if r.Cell.ID == "busy" {
				app, irqs = 97.25, 3
			}
			for name, v := range map[string]float64{measure.MetricInterruptRate: irqs, measure.MetricPolledByApp: app,
				measure.MetricPolledBySoftirq: 100 - app, measure.MetricAsleep: 12.5} {
				r.SUT.Metrics = append(r.SUT.Metrics, measure.Metric{Name: name, Value: v})
			}
		}
		s := Summarize(j)
		var text, page bytes.Buffer
		if err := Table(&text, s); err != nil {
			t.Fatal(err)
		}
		if err := HTML(&page, s, nil); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(page.String(), "<h2>Who polled") != (s.PolledRows() != nil) {
			t.Error("the page and the terminal do not have the same")
		}
		return strings.Join(strings.Fields(text.String()), " ")
	}
	with := made(plan.PollBusy)
	for _, want := range []string{"cell end interrupts by app by thread by softirq empty polls spinning asleep",
		"busy SUT 3.00 97.2 - 2.8 - - 12.5", "tcp/tcp SUT 12345 0.0 - 100.0 - - 12.5"} {
		if !strings.Contains(with, want) {
			t.Errorf("no %q in %s", want, with)
		}
	}
	if strings.Contains(with, "busy TG") {
		t.Errorf("an end that tells nothing: %s", with)
	}
	if without := made(""); strings.Contains(without, "by softirq") {
		t.Errorf("no cell says who polls: %s", without)
	}
}
