// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// Ranks say what comparisons say: a receiver that was held up by its sender has not the lower
// rank for it, one whose CPUs ran slower neither, and what did not act is named. The best cell is
// the best all the same. Where cells differ in what held them up, or in what sets the frequency,
// they are ranked by it.
func TestRanksSayWhatComparisonsSay(t *testing.T) {
	limit := func(limits map[string]plan.LimitedBy) func(*results.Record) {
		return func(r *results.Record) { r.Limit = limits[r.Cell.ID] }
	}
	const sender, receiver = plan.BySender, plan.ByReceiver
	cells := map[string][2]float64{"trunc": {100, .5}, "copy": {100, 1}, "slow": {50, 1}}
	clock := func(governor string) func(*results.Record) {
		return func(r *results.Record) {
			if r.SUT.FlowMHz = new(3000.); r.Cell.ID == "copy" {
				r.SUT.FlowMHz, r.Cell.Governor = new(1500.), governor
			}
		}
	}
	for _, x := range []struct {
		name   string
		change func(*results.Record)
		want   map[string]string // rank and caveat
		line   string
	}{
		{"receivers at their limits", limit(map[string]plan.LimitedBy{"trunc": receiver, "copy": receiver,
			"slow": receiver}),
			map[string]string{"trunc": "1", "copy": "2", "slow": "3"}, ""},
		{"nothing is known", func(*results.Record) {}, map[string]string{"trunc": "1", "copy": "2", "slow": "3"}, ""},
		{"receivers at the sender's", limit(map[string]plan.LimitedBy{"trunc": sender, "copy": sender,
			"slow": receiver}),
			map[string]string{"trunc": "1 at the sender's limit", "copy": "- at the sender's limit", "slow": "2"},
			"; not ranked, because something else may explain why they are lower: copy"},
		{"senders at their own", func(r *results.Record) { r.Cell.RX, r.Cell.TX, r.Limit = "tcp", r.Cell.ID, sender },
			map[string]string{"trunc": "1", "copy": "2", "slow": "3"}, ""},
		{"one slow CPU", clock(""),
			map[string]string{"trunc": "1",
				"copy": "- other CPU frequency: SUT at 3000 and 1500 MHz, which may explain it", "slow": "2"},
			"; not ranked, because something else may explain why they are lower: copy"},
		{"by its governor", clock("powersave"), map[string]string{"trunc": "1", "copy": "2", "slow": "3"}, ""},
		{"it had no effect", func(r *results.Record) {
			if r.Cell.ID == "copy" {
				r.Cell.BigTCPBytes, r.Flags = 131072, []string{"inert-big_tcp"}
			}
		}, map[string]string{"trunc": "1", "copy": "2 big_tcp had no effect", "slow": "3"}, ""},
		{"nor in any", func(r *results.Record) { r.Cell.BigTCPBytes, r.Flags = 131072, []string{"inert-big_tcp"} },
			map[string]string{"trunc": "1", "copy": "2", "slow": "3"}, ""},
	} {
		j := roiPlan(1, 8, cells)
		for i := range j.Records {
			x.change(&j.Records[i])
		}
		s := Summarize(j)
		for _, c := range s.ROI.Cells {
			if got := strings.TrimSpace(c.RankText() + " " + c.Caveat); got != x.want[c.Cell] {
				t.Errorf("%s: %s has rank %q, want %q", x.name, c.Cell, got, x.want[c.Cell])
			}
		}
		line := total(t, s).Line()
		if !strings.Contains(line, map[bool]string{true: "trunc leads for ",
			false: "trunc leads the ranked cells for "}[x.line == ""]) || !strings.HasSuffix(line, x.line) ||
			strings.Contains(line, "not ranked") != (x.line != "") {
			t.Errorf("%s: %s", x.name, line)
		}
		page := render(t, func(b *bytes.Buffer) error { return HTML(b, s, nil) })
		for cell, want := range x.want {
			rank, caveat, _ := strings.Cut(want, " ")
			if caveat == "" {
				continue
			}
			if !strings.Contains(string(table(t, s)), rank+"  "+caveat+"\n") {
				t.Errorf("%s: the table does not say of %s %q:\n%s", x.name, cell, want, table(t, s))
			}
			if html := strings.ReplaceAll(caveat, "'", "&#39;"); !bytes.Contains(page,
				[]byte("<small>"+html+"</small>")) {
				t.Errorf("%s: the page does not say of %s %q", x.name, cell, caveat)
			}
		}
	}
}
