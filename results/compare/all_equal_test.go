// SPDX-License-Identifier: MIT

package compare

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
)

// "Is it the same?" is asked of all runs, too: where gates left out what was different, the runs
// that are left are equal and all runs are not; where they left out what was as all others, both
// are.
func TestEqualWithAllRuns(t *testing.T) {
	const reps = 14
	play := func(left func(rep int) bool, gbps float64) *Result {
		t.Helper()
		cells := []plan.Cell{{ID: "a", RX: "tcp", TX: "tcp", Touch: "read"}, {ID: "b", RX: "uring", TX: "tcp",
			Touch: "read"}}
		j := session(1, reps, cells, func(plan.Cell) float64 { return 100 })
		for i := range j.Records {
			if r := &j.Records[i]; r.Cell.ID == "b" && left(r.Rep) {
				*r.SUT.ThroughputGbps *= gbps / 100
				r.Fail(plan.ByOutcome, "it is slow", "")
			}
		}
		s := NewSet("s", j)
		r, err := Within(&s, cells[0], metrics(t, "throughput_gbps"))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, x := range []struct {
		name      string
		left      func(rep int) bool
		gbps      float64
		allEquals bool
	}{
		{"what was slow is left out", func(rep int) bool { return rep < 5 }, 60, false},
		{"what was like all is left out", func(rep int) bool { return rep < 2 }, 100, true},
	} {
		r := play(x.left, x.gbps)
		if r.Rows[0].All == nil || r.Rows[0].All.Equal != nil {
			t.Fatalf("%s: %+v", x.name, r.Rows[0].All)
		}
		r.Within(.02)
		row := &r.Rows[0]
		if !strings.HasPrefix(row.VerdictText(), "equal within 2 %") {
			t.Errorf("%s: %s", x.name, row.VerdictText())
		}
		if got := row.AllText(); strings.HasPrefix(got, "equal within 2 %") != x.allEquals ||
			row.All.Equal == nil || row.All.Equal.Holds() != x.allEquals {
			t.Errorf("%s: with all runs %q, %+v", x.name, got, row.All.Equal)
		}
	}
}
