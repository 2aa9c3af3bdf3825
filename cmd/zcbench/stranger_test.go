// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// A journal that is a link is refused by every command that reads folders, with status 2 and what
// to do; a link to the folder is followed.
func TestLinkedJournal(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	w, err := results.Create(other, results.Header{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	r := results.Record{RunID: "r", SessionID: "s", Cell: plan.Cell{ID: "tcp/tcp", RX: "tcp", TX: "tcp"},
		Verdict: results.OK}
	r.SUT.ThroughputGbps = new(1.0)
	if err := w.Append(r); err != nil {
		t.Fatal(err)
	}
	w.Close()
	for from, to := range map[string]string{filepath.Join(other, results.JournalFile): filepath.Join(dir,
		results.JournalFile), other: filepath.Join(dir, "whole")} {
		if err := os.Symlink(from, to); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{`zcbench report "$1"`, `zcbench report --idle "$1"`,
		`zcbench export --csv --json "$1"`, `zcbench compare "$1" "$2"`,
		`zcbench rerun --dry-run "$1"`, `zcbench power import "$1" --log csv=/dev/null --out "$1/x"`,
		`zcbench share "$1"`, `zcbench fleet "$1"`, `zcbench matrix "$3" --out "$1" --resume`} {
		plan := filepath.Join(other, "plan.yaml")
		if err := os.WriteFile(plan, []byte(killed), 0o666); err != nil {
			t.Fatal(err)
		}
		p := built.Shell(t, line, dir, other, plan)
		if status := p.Wait(await.Hang); status != 2 || !strings.Contains(p.Err.String(), results.JournalFile+
			" is a symbolic link") {
			t.Errorf("%s: status %d, %s", line, status, &p.Err)
		}
		if !strings.Contains(line, "fleet") && !strings.Contains(p.Err.String(), "fix: ") {
			t.Errorf("%s: nobody says what to do: %s", line, &p.Err)
		}
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 2 {
		t.Errorf("files in the folder: %v, %v", names, err)
	}
	p := built.Shell(t, `zcbench report "$1"`, filepath.Join(dir, "whole"))
	if status := p.Wait(await.Hang); status != 0 {
		t.Errorf("a link to the folder: status %d, %s", status, &p.Err)
	}
	if _, err := os.Stat(filepath.Join(other, results.ReportFile)); err != nil {
		t.Error(err)
	}
}
