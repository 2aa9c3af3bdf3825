// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

func TestDeriveFromTornJournal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	w, err := results.Create(dir, results.Header{SessionID: "s", Cells: []plan.Cell{cell("tcp", "tcp")}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := w.Append(results.Record{RunID: fmt.Sprint("r", i), SessionID: "s", Seq: i, Cell: cell("tcp", "tcp"),
			Verdict: results.OK}); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	path := filepath.Join(dir, results.JournalFile)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	torn := b[:len(b)-20]
	if err := os.WriteFile(path, torn, 0o666); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it replaces what it made
		j, _, err := Derive(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(j.Records) != 2 || len(j.Skipped) != 1 || j.Skipped[0].Line != 4 || !strings.Contains(j.Skipped[0].Why,
			"incomplete") {
			t.Errorf("%d records, skipped %v", len(j.Records), j.Skipped)
		}
	}
	var names []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"flows.csv", "journal.jsonl", "metrics.csv", "plots", "report.html", "runs.csv",
		"samples.csv"}; !slices.Equal(names, want) {
		t.Errorf("files %v, want %v", names, want)
	}
	if after, _ := os.ReadFile(path); string(after) != string(torn) {
		t.Error("the journal was changed")
	}
	html, _ := os.ReadFile(filepath.Join(dir, results.ReportFile))
	if !strings.Contains(string(html), "incomplete") {
		t.Error("report.html does not say that a line was torn")
	}
}

func TestDeriveNothing(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := Derive(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no journal: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, results.JournalFile), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Derive(dir); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("empty journal: %v", err)
	}
	if es, _ := os.ReadDir(dir); len(es) != 1 {
		t.Errorf("files were made of nothing: %v", es)
	}
}

// The owner of the folder above exchanges the results folder for a link at the end of the runs: the
// files are made where the journal was written, and nowhere else.
func TestDeriveWhereTheJournalIs(t *testing.T) {
	in := t.TempDir()
	dir, moved, other := filepath.Join(in, "out"), filepath.Join(in, "moved"), t.TempDir()
	e := &Experiment{Dir: dir}
	w, err := results.Create(dir, results.Header{SessionID: "s", Cells: []plan.Cell{cell("tcp", "tcp")}})
	if err != nil {
		t.Fatal(err)
	}
	run := results.Record{RunID: "r", SessionID: "s", Cell: cell("tcp", "tcp"), Verdict: results.OK}
	if err := errors.Join(w.Append(run), e.leave(w), os.Rename(dir, moved), os.Symlink(other, dir)); err != nil {
		t.Fatal(err)
	}
	j, _, err := DeriveIn(e.Kept)
	if err != nil || len(j.Records) != 1 {
		t.Errorf("%d runs, %v", len(j.Records), err)
	}
	if es, _ := os.ReadDir(other); len(es) != 0 {
		t.Errorf("where the link leads there are %v", es)
	}
	if _, err := os.Stat(filepath.Join(moved, results.ReportFile)); err != nil {
		t.Error(err)
	}
}
