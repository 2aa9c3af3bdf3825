// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// Which cells may be the best: those that are lower beyond doubt are not, unless something else may
// be why.
func TestBest(t *testing.T) {
	cells := []plan.Cell{{ID: "tcp", RX: "tcp", TX: "tcp", Touch: "read"}, {ID: "uring", RX: "uring", TX: "tcp",
		Touch: "read"}, {ID: "held", RX: "zcrx", TX: "tcp", Touch: "read"},
		{ID: "near", RX: "near", TX: "tcp"}, {ID: "paced", RX: "tcp", TX: "tcp", PaceBitsPS: 1e9},
		{ID: "trunc", RX: "tcp-trunc", TX: "tcp"}, {ID: "control", RX: "zcrx", TX: "tcp", Control: plan.WrongQueue}}
	j := session(2, 10, cells, func(c plan.Cell) float64 {
		return map[string]float64{"tcp": 80, "uring": 100, "held": 90, "near": 99.7, "paced": 500, "trunc": 400,
			"control": 300}[c.ID]
	})
	for i := range j.Records {
		if r := &j.Records[i]; r.Cell.ID == "held" {
			r.Limit = plan.BySender
		}
	}
	s := NewSet("s", j)
	c := Best(s.Candidates(), metrics(t, "throughput_gbps")[0], stat.Between{})
	if c == nil {
		t.Fatal("no ranking")
	}
	got := ""
	for i := range c.Rivals {
		r := &c.Rivals[i]
		got += fmt.Sprintf("; %s %v %q", r.Cell.Cell.ID, c.Below(r), r.Why())
		if r.Diff.Ratio == nil || r.Diff.Ratio.Value >= 1.005 || r.Reach.Tests != 3 || r.Spread == nil {
			t.Errorf("%s: %+v", r.Cell.Cell.ID, r)
		}
	}
	if want := `uring; near false ""; held true "at the sender's limit"; tcp true ""`; c.First.Cell.ID+got != want {
		t.Errorf("%s, want %s", c.First.Cell.ID+got, want)
	}
	if c := Best(nil, metrics(t, "throughput_gbps")[0], stat.Between{}); c != nil {
		t.Errorf("of nothing: %+v", c)
	}
	// Of a cost the lowest is the best, and limits do not matter.
	if c := Best(s.Candidates(), metrics(t, "ns_per_kb")[0], stat.Between{}); c != nil && c.Rivals[0].Why() != "" {
		t.Errorf("%+v", c.Rivals[0])
	}
}

// A cell with too few runs for a verdict is neither the first nor a rival, whatever it measured,
// unless no cell has enough.
func TestBestHasRuns(t *testing.T) {
	cells := []plan.Cell{{ID: "tcp", RX: "tcp", TX: "tcp"}, {ID: "uring", RX: "uring", TX: "tcp"},
		{ID: "once", RX: "zcrx", TX: "tcp"}}
	j := session(2, 8, cells, func(c plan.Cell) float64 {
		return map[string]float64{"tcp": 80, "uring": 100,
			"once": 200}[c.ID]
	})
	j.Records = slices.DeleteFunc(j.Records, func(r results.Record) bool { return r.Cell.ID == "once" && r.Rep > 0 })
	s := NewSet("s", j)
	c := Best(s.Candidates(), metrics(t, "throughput_gbps")[0], stat.Between{})
	if c.First.Cell.ID != "uring" || len(c.Rivals) != 1 || !c.Below(&c.Rivals[0]) || c.Rivals[0].Reach.Tests != 1 ||
		len(c.Short) != 1 || c.Short[0].Cell.Cell.ID != "once" {
		t.Errorf("%+v", c)
	}
	j.Records = slices.DeleteFunc(j.Records, func(r results.Record) bool { return r.Rep > 3 })
	s = NewSet("s", j)
	if c := Best(s.Candidates(), metrics(t, "throughput_gbps")[0], stat.Between{}); c.First.Cell.ID != "once" ||
		len(c.Rivals) != 2 || c.Short != nil {
		t.Errorf("%+v", c)
	}
}

// What boots cannot tell, runs would not.
func TestRunsToFindOfBoots(t *testing.T) {
	for level, want := range map[stat.Level]int{stat.WithinBoot: stat.MinRuns, stat.AcrossBoots: 0,
		stat.DeclaredBoots: 0, stat.TooFewBoots: 0} {
		if _, least := (&Row{Diff: stat.Difference{Level: level}}).RunsToFind(1, .05); least != want {
			t.Errorf("%s: %d runs, want %d", level, least, want)
		}
	}
}
