// SPDX-License-Identifier: MIT

package main

import (
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
