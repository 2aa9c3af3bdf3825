// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/survey"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/environment"
)

const ownFacts = 10

// crowded is a folder of a large base, which no cell names, and n cells with a small change of it
// each: a ring that is the same in all, and facts of its own.
func crowded(t *testing.T, n int) (dir string, j results.Journal) {
	t.Helper()
	dir = t.TempDir()
	facts := []survey.Fact{{Name: "nic/ring rx", Value: "1024"}}
	for i := range 8000 {
		facts = append(facts, survey.Fact{Name: fmt.Sprintf("config/OPTION_%04d", i),
			Value: strings.Repeat("y", 20)})
	}
	base := survey.New(facts)
	change := *base
	var err error
	if change.Base, err = environment.Write(folderOf(t, dir), base); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		own := change
		own.Facts = []survey.Fact{{Name: "nic/ring rx", Value: "4096"}}
		for k := range ownFacts {
			own.Facts = append(own.Facts, survey.Fact{Name: fmt.Sprintf("sysctl/net.%04d", ownFacts*i+k),
				Value: "1"})
		}
		hash, err := environment.Write(folderOf(t, dir), &own)
		if err != nil {
			t.Fatal(err)
		}
		r := results.Record{RunID: fmt.Sprint(i), Cell: plan.Cell{ID: fmt.Sprintf("cell%d", i)}, Verdict: results.OK}
		r.SUT.Env.Environment = hash
		j.Records = append(j.Records, r)
	}
	return dir, j
}

// A report of many changes of one base takes memory for that one and the changes: wholes of all
// would be some 500 MB here, and were tens of GB for what a folder from elsewhere may have.
func TestManySnapshotsAreNoWholes(t *testing.T) {
	const cells = 60
	dir, j := crowded(t, cells)
	lines, text := 0, ""
	got := allocated(func() {
		all := AcrossCells(folderOf(t, dir), &j)
		lines, text = len(all), strings.Join(all, "\n")
	})
	if lines != mostVarying+1 ||
		!strings.HasSuffix(text, fmt.Sprintf("SUT: and %d more facts", ownFacts*cells-mostVarying)) {
		t.Errorf("%d lines: ...%s", lines, text[max(0, len(text)-100):])
	}
	if !strings.HasPrefix(text, "SUT sysctl/net.0000: 1 with cell0; nothing with 59 cells\n") ||
		strings.Contains(text, "ring rx") {
		t.Errorf("%.200s...", text)
	}
	var runs []*results.Record
	for i := range j.Records {
		runs = append(runs, &j.Records[i])
	}
	folder := environment.Open(dir)
	var s *surroundings
	got2 := allocated(func() { s = around(folder, runs, ends.SUT) })
	if len(s.order) != 8000+1+ownFacts*cells || s.order[0] != "nic/ring rx" ||
		fmt.Sprint(s.values["nic/ring rx"]) != "[4096]" {
		t.Errorf("%d facts, %q first: %q", len(s.order), s.order[0], s.values["nic/ring rx"])
	}
	t.Logf("the report allocates %d KiB, a comparison %d KiB", got>>10, got2>>10)
	if most := uint64(60 << 20); got > most || got2 > most/2 {
		t.Errorf("the report allocates %d MiB, a comparison %d MiB", got>>20, got2>>20)
	}
}

// allocated is how much a function allocates, whether or not it is freed.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Snapshots that cannot be read are one line and their number, and values are bounded, too.
func TestManyProblemsAreFew(t *testing.T) {
	var j results.Journal
	for i := range 100 {
		r := results.Record{RunID: fmt.Sprint(i), Cell: plan.Cell{ID: "c"}, Verdict: results.OK}
		r.SUT.Env.Environment = fmt.Sprintf("%064x", i)
		j.Records = append(j.Records, r)
	}
	got := AcrossCells(folderOf(t, t.TempDir()), &j)
	if len(got) != 2 || !strings.HasPrefix(got[0], "SUT: a snapshot cannot be read: ") ||
		got[1] != "SUT: nor can 99 more snapshots" {
		t.Errorf("%q", got)
	}
	var all []found
	for i := range 100 {
		s := survey.New([]survey.Fact{{Name: "nic/ring rx", Value: fmt.Sprint(i)}})
		all = append(all, found{snapshot: survey.Found{Base: s}, cells: []string{"c"}})
	}
	if text := said(all, "nic/ring rx"); !strings.HasSuffix(text, "19 with c; 80 more values") {
		t.Error(text)
	}
}
