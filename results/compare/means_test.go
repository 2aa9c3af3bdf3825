// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"testing"

	"github.com/zcbench/zcbench/results"
)

// What changes the meaning of a figure stands beside its verdict: of whose runs, and of how many.
// Figures of another kind do not have it.
func TestVerdictOfMeanings(t *testing.T) {
	elsewhere := results.WarnSoftirqElsewhere("0-1", "1")
	shared := results.WarnSoftirqShared("SUT", "0", "TG", "2cpu", "--cpus APP,SOFTIRQ")
	const charged = "the SUT was not charged for all of its own softirq"
	a, b := results.Cell{ID: "a", RX: "tcp", TX: "tcp"}, results.Cell{ID: "b", RX: "tcp", TX: "sendfile"}
	for _, x := range []struct {
		warning    string
		runsA      int // of six, that have it
		runsB      int
		metric     string
		gbps, busy float64 // of b
		want       string
	}{
		{elsewhere, 6, 6, "ns_per_kb", 10, 2, "costlier (" + charged + ")"},
		{elsewhere, 6, 6, "tg_ns_per_kb", 10, 2, "costlier (" + charged + ")"},
		{elsewhere, 6, 6, "cpu_busy_cores", 10, 2, "costlier (" + charged + ")"},
		{elsewhere, 6, 0, "ns_per_kb", 10, 2, "costlier (" + charged + " in A)"},
		{elsewhere, 0, 4, "ns_per_kb", 10, 2, "costlier (" + charged + " in 4 of 6 runs of B)"},
		{elsewhere, 6, 4, "ns_per_kb", 10, 2, "costlier (" + charged + " in 10 of 12 runs)"},
		{elsewhere, 6, 6, "throughput_gbps", 20, 1, "faster"},
		{elsewhere, 6, 6, "ns_per_kb", 10, 1, "cannot tell"},
		{elsewhere, 6, 6, "roi_cpu", 10, 2, "lower (" + charged + ")"},
		{elsewhere, 6, 6, "roi_cpu_total", 10, 2, "lower"}, // softirq on the CPUs of both is in the sum
		{shared, 6, 6, "ns_per_kb", 10, 2, "costlier (the TG was charged for the SUT's softirq)"},
		{"", 0, 0, "ns_per_kb", 10, 2, "costlier"},
		{"", 0, 0, "roi_cpu", 20, 1, "higher"},
	} {
		var j results.Journal
		for rep := range 6 {
			for _, c := range []struct {
				cell       results.Cell
				n          int
				gbps, busy float64
			}{{a, x.runsA, 10, 1}, {b, x.runsB, x.gbps, x.busy}} {
				r := results.Record{RunID: fmt.Sprint(c.cell.ID, rep), SessionID: "s", Cell: c.cell, Rep: rep, Block: rep, Verdict: results.OK}
				vary := 1 + .001*float64((rep*7+len(j.Records))%5)
				for _, h := range []*results.Host{&r.SUT, &r.TG} {
					bytes := c.gbps * 1e9 / 8
					h.ThroughputGbps, h.DurationS, h.Bytes, h.CPUBusyCores = new(c.gbps), new(1.), new(uint64(bytes)), new(c.busy*vary)
				}
				if x.metric == "throughput_gbps" {
					r.SUT.ThroughputGbps = new(c.gbps * vary)
				}
				r.SUT.Env.IRQCPU, r.SUT.Env.CPUsMeasured, r.TG.Env.CPUsMeasured = "0-1", "1", "0"
				if rep < c.n && x.warning != "" {
					r.Warnings = []string{x.warning}
				}
				j.Records = append(j.Records, r)
			}
		}
		s := NewSet("s", j)
		got, err := Within(&s, a, metrics(t, x.metric))
		if err != nil {
			t.Fatal(err)
		}
		row := got.Rows[0]
		row.Diff.Level = "" // what it holds for is not asked here
		if text := row.VerdictText(); text != x.want {
			t.Errorf("%s, %d and %d runs with %q: %q, want %q", x.metric, x.runsA, x.runsB, x.warning, text, x.want)
		}
	}
}
