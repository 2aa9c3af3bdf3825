// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// A folder and its runs.csv get the same comparison, in words and p: of blocks of which each has a
// start of the agents, of blocks of which several share one, and of turns. What the folder says is
// of its starts.
func TestTableComparesAsItsFolder(t *testing.T) {
	for _, x := range []struct {
		name    string
		starts  int
		each    int // blocks of a start
		turns   bool
		level   string
		inTurns bool
	}{
		{"a start each", 10, 1, false, "across 10 starts", false},
		{"three of two blocks", 3, 2, false, "within these 3 starts", false},
		{"turns", 10, 1, true, "across 10 starts", true},
		{"one start", 0, 10, false, "within this boot", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			dir := startsFolder(t, x.starts, x.each, x.turns)
			said := func(path string) (words string, d [3]float64) {
				s, err := Load(path, (*results.Folder).ReadFigures)
				if err != nil {
					t.Fatal(err)
				}
				s.Name = "s"
				r, err := Within(&s, tcp, metrics(t, "throughput_gbps", "ns_per_kb"))
				if err != nil || len(r.Rows) != 2 {
					t.Fatalf("%+v, %v", r, err)
				}
				var b strings.Builder
				if err := r.Table(&b); err != nil {
					t.Fatal(err)
				}
				diff := &r.Rows[0].Diff
				if got := LevelText(diff); got != x.level || diff.InTurns() != x.inTurns {
					t.Errorf("%s: %s, by pairs within starts: %v", filepath.Base(path), got, diff.InTurns())
				}
				words = b.String() + strings.Join(r.Method(), "\n") + "\n"
				for i := range r.Rows {
					words += r.Rows[i].VerdictText() + "\n" + LevelText(&r.Rows[i].Diff) + "\n"
				}
				return words, [3]float64{diff.P, diff.Least, diff.Adjusted}
			}
			folder, p := said(dir)
			table, tableP := said(filepath.Join(dir, results.RunsFile))
			if d := cmp.Diff(folder, table); d != "" || p != tableP {
				t.Errorf("p, least and adjusted %v of the folder, %v of its table (-folder +table):\n%s", p, tableP, d)
			}
		})
	}
}

// startsFolder makes a results folder with its tables: blocks of two cells, by so many starts; 0:
// none is on record.
func startsFolder(t *testing.T, starts, each int, turns bool) (dir string) {
	t.Helper()
	dir = t.TempDir()
	w, err := results.Create(dir, results.Header{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	uring, seq := plan.Cell{ID: "uring/tcp", RX: "uring", TX: "tcp", Touch: "read"}, 0
	for block := range max(starts, 1) * each {
		for k, c := range []plan.Cell{tcp, uring} {
			gbps := 40 + 5*float64(block/each%2) + float64(block*7%5) + float64(k*(3+block*3%4))
			r := results.Record{Schema: results.SchemaVersion, RunID: fmt.Sprintf("s-%05d", seq), SessionID: "s",
				Cell: c,
				Seq:  seq, Block: block, Rep: block, Verdict: results.OK, StartUTCNs: 1_790_000_000_000_000_001 +
					int64(seq)*1e9}
			if starts > 0 {
				r.Start = block/each + 1
			}
			if turns {
				r.StartUTCNs -= int64(k) * 1e9 // one for both
				r.Turns = &results.Turns{TurnNs: 60e6, Turns: 18, Cells: 2}
			}
			for _, h := range []*results.Host{&r.SUT, &r.TG} {
				h.Env.BootID, h.ThroughputGbps, h.DurationS = "boot", ptr(gbps), ptr(1.0)
				h.Bytes, h.CPUBusyCores = ptr(uint64(gbps*1e9/8)), ptr(1+float64(k)/10)
			}
			if err := w.Append(r); err != nil {
				t.Fatal(err)
			}
			seq++
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	j, err := results.Read(filepath.Join(dir, results.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := folderOf(t, dir).WriteCSV(j.Records); err != nil {
		t.Fatal(err)
	}
	return dir
}
