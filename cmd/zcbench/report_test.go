// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results"
)

// A folder of results folders is taken for one of them: the error names those.
func TestReportOfAFolderOfResults(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "none"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if name != "none" {
			if err := os.WriteFile(filepath.Join(dir, name, results.JournalFile), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := dir + " holds no results itself, but folders with results: name one of " + filepath.Join(dir, "a") +
		", " + filepath.Join(dir, "b")
	if err := journalError(dir, fs.ErrNotExist); err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	if err := journalError(filepath.Join(dir, "nope"), fs.ErrNotExist); !strings.HasPrefix(err.Error(),
		filepath.Join(dir, "nope")+" holds no results: there is no such folder") {
		t.Error(err)
	}
	if err := journalError(filepath.Join(dir, "none"), fs.ErrNotExist); !strings.Contains(err.Error(),
		" holds no results: ") {
		t.Error(err)
	}
}

// A report writes what the run's end wrote, to the last byte, whatever became of the files; but a
// file that has a run which the journal lacks stays as it is.
func TestReportRewritesAll(t *testing.T) {
	dir := t.TempDir()
	unpack(t, dir)
	ran(t, dir, "zcbench export --csv a")
	names := []string{results.RunsFile, results.MetricsFile, results.SamplesFile, results.FlowsFile}
	was := map[string][]byte{}
	for _, name := range names {
		path := filepath.Join(dir, "a", name)
		text, err := os.ReadFile(path)
		if err != nil || len(text) < 100 {
			t.Fatalf("%s: %d bytes, %v", name, len(text), err)
		}
		was[name] = text
		if err := os.WriteFile(path, text[:len(text)/2], 0o666); err != nil {
			t.Fatal(err)
		}
	}
	said := string(ran(t, dir, "zcbench report a"))
	for _, name := range names {
		if text, err := os.ReadFile(filepath.Join(dir, "a", name)); err != nil || !bytes.Equal(text, was[name]) {
			t.Errorf("%s: %d bytes instead of %d, %v", name, len(text), len(was[name]), err)
		}
		if !strings.Contains(said, name) {
			t.Errorf("it does not say that it wrote %s", name)
		}
	}
	path := filepath.Join(dir, "a", results.SamplesFile)
	more := append(bytes.Clone(was[results.SamplesFile]), "another-run,tg,m,1,0,1\n"...)
	if err := os.WriteFile(path, more, 0o666); err != nil {
		t.Fatal(err)
	}
	said = strings.Join(strings.Fields(string(ran(t, dir, "zcbench report a"))), " ")
	if text, err := os.ReadFile(path); err != nil || !bytes.Equal(text, more) ||
		!strings.Contains(said, "samples.csv is left as it is: it has rows of runs of which the journal has none (1)") {
		t.Errorf("%d bytes instead of %d, %v: %s", len(text), len(more), err, said[max(0, len(said)-300):])
	}
}
