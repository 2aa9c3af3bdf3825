// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// What changes the meaning of figures stands beside them: once, where it is of all runs, else in
// the rows that it is of, also of the table of returns.
func TestMeaningsStandBeside(t *testing.T) {
	elsewhere := results.WarnSoftirqElsewhere("0-1", "1")
	shared := results.WarnSoftirqShared("SUT", "0", "TG", "2cpu", "--cpus APP,SOFTIRQ")
	made := func(change func(*results.Record)) string {
		j := roiPlan(1, 8, map[string][2]float64{"plain": {50, .5}, "two": {50, .3}})
		for i := range j.Records {
			change(&j.Records[i])
		}
		s := Summarize(j)
		var page bytes.Buffer
		if err := HTML(&page, s, nil); err != nil {
			t.Fatal(err)
		}
		for _, text := range append(append([]string{}, s.Means...), s.ROI.Said()) {
			if !strings.Contains(page.String(), strings.ReplaceAll(text, "'", "&#39;")) {
				t.Errorf("the page has no %q", text)
			}
		}
		return string(table(t, s))
	}
	// between is what stands before a line of the text, and behind the last one like it.
	between := func(text, from, to string) string {
		_, text, _ = strings.Cut(text, from)
		text, _, _ = strings.Cut(text, to)
		return text
	}
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }

	text := made(func(r *results.Record) { r.Warnings = []string{elsewhere} })
	const all = "in all rows: the SUT was not charged for all of its own softirq (16 of 16 runs)"
	rows, roi := words(between(text, "RX mode", "SUT = receiver")), words(between(text, "ROI =", "T^n"))
	if strings.Count(rows, all) != 1 || strings.Count(roi, all) != 1 {
		t.Errorf("of all runs:\n%s", text)
	}

	text = made(func(r *results.Record) {
		if r.Cell.ID == "two" && r.Rep < 6 {
			r.Warnings = []string{shared}
		}
	})
	const some = "the TG was charged for the SUT's softirq (6 of 8 runs)"
	rows, roi = words(between(text, "RX mode", "SUT = receiver")), words(between(text, "ROI =", "T^n"))
	if strings.Count(rows, some) != 1 || strings.Count(roi, some) != 1 || strings.Contains(rows+roi, "in all rows") {
		t.Errorf("of some runs:\n%s", text)
	}
	if at := strings.Index(roi, "two "); at < 0 || strings.Index(roi, some) < at {
		t.Errorf("not in its row: %s", roi)
	}

	if text := made(func(*results.Record) {}); strings.Contains(text, "in all rows") ||
		strings.Contains(text, "charged") {
		t.Errorf("of none:\n%s", text)
	}
}

// One cell alone leads nobody, whatever n and m.
func TestOneRankedCellLeadsNobody(t *testing.T) {
	j := roiPlan(1, 8, map[string][2]float64{"best": {100, .5}, "held": {50, 1}})
	for i := range j.Records {
		r := &j.Records[i]
		r.Limit = map[string]plan.LimitedBy{"best": plan.ByReceiver, "held": plan.BySender}[r.Cell.ID]
	}
	for _, s := range Summarize(j).ROI.Sensitivity {
		want := string(s.Side) + ", " + string(s.Cost) + ": best is the highest, and nothing can be ranked " +
			"against it, because something else may explain why the others are lower: held"
		if got := s.Line(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A receiver that took more than was sent in the same time says why.
func TestMoreReceivedThanSent(t *testing.T) {
	for got, want := range map[float64]bool{1001e3: true, 999e3: false} {
		c := Cell{Cell: plan.Cell{RX: "udp", TX: "udp"}}
		c.SUT.PacketsPerS, c.TG.PacketsPerS = one(got), one(1000e3)
		if has := strings.Contains(packetLegend(&Summary{Cells: []Cell{c}}),
			"with what was on its way when the window began"); has != want {
			t.Errorf("%v of 1e6 received: %v", got, has)
		}
	}
}

func one(v float64) *stat.Summary { return stat.Summarize([]float64{v}) }
