// SPDX-License-Identifier: MIT

package judge

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/report"
)

// bimodal is a journal of a steady cell, and one whose runs are of two kinds: fast, or slow
// and with drops. A run that was spoilt has been replaced.
func bimodal(g plan.Gates) results.Journal {
	steady, two := plan.Cell{ID: "steady", RX: "tcp", TX: "tcp"}, plan.Cell{ID: "two", RX: "uring", TX: "tcp"}
	j := results.Journal{Header: results.Header{Cells: []plan.Cell{steady, two},
		Plan: &plan.Origin{Gates: g, Baseline: &steady}}}
	add := func(c plan.Cell, rep int, gbps float64, drops uint64, spoilt bool) {
		bytes := uint64(1e10)
		r := results.Record{Schema: results.SchemaVersion, RunID: fmt.Sprint("r", len(j.Records)), Seq: len(j.Records),
			Cell: c, Rep: rep, Verdict: results.OK}
		r.SUT.ThroughputGbps, r.SUT.Bytes, r.SUT.RXDrops = &gbps, &bytes, &drops
		if spoilt {
			r.SUT.Metrics = []measure.Metric{{Name: measure.MetricForeignCores, Of: []string{"1"}, Value: .7}}
		}
		Run(g, &r)
		j.Records = append(j.Records, r)
	}
	for rep := range 10 {
		jitter := float64(rep%3) / 10
		add(steady, rep, 90+jitter, 0, false)
		if rep == 4 {
			add(two, rep, 20, 0, true)
		}
		if slow := rep%2 == 1 && rep < 9; slow { // 4 of 10
			add(two, rep, 60+jitter, 1000, false)
		} else {
			add(two, rep, 100+jitter, 0, false)
		}
	}
	Apply(&j)
	return j
}

// A mode with two modes stays visible: its slow runs, which come with drops and make it vary,
// are in its numbers, flagged, and it is not called faster by its fast ones alone.
func TestBimodalStaysVisible(t *testing.T) {
	s := report.Summarize(bimodal(plan.DefaultGates()))
	two := &s.Cells[1]
	if two.OK != 10 || two.Made != 10 || two.Replaced != 1 || two.Invalid != 1 {
		t.Errorf("%d ok, %d made, %d replaced, %d invalid", two.OK, two.Made, two.Replaced, two.Invalid)
	}
	if g := two.SUT.ThroughputGbps; g == nil || g.Lo == nil || *g.Lo > 61 || *g.Hi < 100 {
		t.Errorf("the interval hides one of the modes: %+v", g)
	}
	var table bytes.Buffer
	if err := report.Table(&table, s); err != nil || !strings.Contains(table.String(),
		"10 ok, 1 replaced [1]\n  flagged: throughput_cv drops_per_gb\n") {
		t.Errorf("%v\n%s", err, &table)
	}
	if row := compared(t, s); row.Verdict != compare.Unsure || row.Runs() != "10+10" || row.All == nil ||
		row.All.NB != 10 {
		t.Errorf("%s, %s, all %+v", row.VerdictText(), row.Runs(), row.All)
	}
}

// Who asks for gates is shown how many runs they left, and what the verdict is without them.
func TestBimodalUnderGates(t *testing.T) {
	g := plan.DefaultGates()
	g.Ask("drops_per_gb", true)
	s := report.Summarize(bimodal(g))
	var runs bytes.Buffer
	if err := report.Table(&runs, s); err != nil || !strings.Contains(runs.String(),
		"6 of 10 ok, 4 invalid, 1 replaced") {
		t.Errorf("%v\n%s", err, &runs)
	}
	row := compared(t, s)
	if row.Verdict != compare.Faster || row.Runs() != "10+6 of 10" || !strings.HasPrefix(row.AllText(),
		"cannot tell (") || !strings.HasSuffix(row.AllText(), ", 10+10)") {
		t.Errorf("%s, %s, all %q", row.VerdictText(), row.Runs(), row.AllText())
	}
	var table, page bytes.Buffer
	if err := s.Compared.Table(&table); err != nil {
		t.Fatal(err)
	}
	if err := report.HTML(&page, s, nil); err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"table": table.String(), "page": page.String()} {
		if !strings.Contains(text, "6 of 10") || !strings.Contains(text, "with all runs") ||
			!strings.Contains(text, "10+10") && !strings.Contains(text, "10&#43;10") {
			t.Errorf("the %s does not show it:\n%s", what, text)
		}
	}
	g.Ask("throughput_cv", true)
	g.Ask("drops_per_gb", false)
	s = report.Summarize(bimodal(g)) // none is left, and it is there all the same
	if row := compared(t, s); row.Runs() != "10+0 of 10" || row.All == nil || row.All.NB != 10 {
		t.Errorf("%s, %s, all %+v", row.VerdictText(), row.Runs(), row.All)
	}
}

func compared(t *testing.T, s *report.Summary) *compare.Row {
	t.Helper()
	if s.Compared == nil || len(s.Compared.Rows) != 1 || s.Compared.Rows[0].Metric != "throughput_gbps" {
		t.Fatalf("compared: %+v", s.Compared)
	}
	return &s.Compared.Rows[0]
}
