// SPDX-License-Identifier: MIT

package report

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// A mark says what it means, and counts the runs that the rows count. What only warm-ups had is
// told as that.
func TestNotesOfRuns(t *testing.T) {
	cell := plan.Cell{ID: "tcp/tcp", RX: "tcp", TX: "tcp"}
	var recs []results.Record
	for i := range 14 {
		r := results.Record{Cell: cell, Warmup: i < 2, Verdict: results.OK, Flags: []string{"power-guard-short"},
			Warnings: []string{"foreign load 0.1 cores"}}
		if r.Warmup {
			r.Warnings = append(r.Warnings, "cold")
		}
		recs = append(recs, r)
	}
	all := notes(recs, nil)
	got := strings.Join(noteLines(&Summary{Notes: all}), "\n")
	const want = "power-guard-short: --power-guard was below 10 s, so readings may still have been settling (12 " +
		"runs)\n" +
		"foreign load 0.1 cores (12 runs)\ncold (2 warm-ups)"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if all[0].Text != "power-guard-short" {
		t.Errorf("for programs the mark alone, not %q", all[0].Text)
	}
}
