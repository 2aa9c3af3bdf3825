// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
)

// Gates of a plan reach the comparison: an unsteady cell has no runs in it.
func TestGatesReach(t *testing.T) {
	dir := t.TempDir()
	limit := .02
	w, err := results.Create(dir,
		results.Header{SessionID: "s",
			Plan: &plan.Origin{Gates: plan.Gates{ThroughputCV: &limit, Asked: []string{"throughput_cv"}}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		gbps := 100 + float64(i%2)*float64(i) // the odd runs wander
		c := plan.Cell{ID: "steady", RX: "tcp", TX: "tcp"}
		if i%2 == 1 {
			c = plan.Cell{ID: "wild", RX: "uring", TX: "tcp"}
		}
		r := results.Record{RunID: fmt.Sprint("r", i), SessionID: "s", Seq: i, Rep: i / 2, Cell: c, Verdict: results.OK}
		r.SUT.ThroughputGbps = &gbps
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	s, err := compare.Load(dir, ReadFigures)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Cells[0].Runs) != 6 || len(s.Cells[1].Runs) != 0 || s.Cells[1].Other != 6 ||
		len(s.Cells[1].All) != 6 || s.Cells[1].Made != 6 {
		t.Errorf("%+v", s.Cells)
	}
}
