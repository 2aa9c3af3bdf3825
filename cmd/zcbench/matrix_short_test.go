// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// inTree is the path of a shipped experiment, from wherever a program starts.
func inTree(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "experiments", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// The reference experiment ends within a night, and all of it is a flag away: as the dry run of the
// shipped file says.
func TestBattleOfOneNight(t *testing.T) {
	file, quick := inTree(t, "battle-of-the-zcs.yaml"), inTree(t, "quick.yaml")
	takes := regexp.MustCompile(`(?m)^\d+ runs, about (\S+)$`)
	for _, x := range []struct {
		flags       []string
		least, most time.Duration
	}{{nil, 7 * time.Hour, 8 * time.Hour}, {[]string{"--whole"}, 102 * time.Hour, 104 * time.Hour}} {
		// no host is asked: what it cannot run would be left out of the hours
		status, out, stderr := zcbench(t, append([]string{"matrix", file, "--dry-run", "--sut", "netns:zcbench-none",
			"--tg", "netns:zcbench-none"}, x.flags...)...)
		m := takes.FindStringSubmatch(out)
		if status != 0 || m == nil || strings.Contains(out, "this is the file's short version") == (x.flags != nil) {
			t.Fatalf("%q: status %d\n%s%s", x.flags, status, out, stderr)
		}
		if d, err := time.ParseDuration(m[1]); err != nil || d < x.least || d > x.most {
			t.Errorf("%q: about %v, %v, want %v to %v", x.flags, d, err, x.least, x.most)
		}
	}
	if status, _, stderr := zcbench(t, "matrix", quick, "--dry-run", "--whole"); status != 2 ||
		!strings.Contains(stderr, "no short version") {
		t.Errorf("the whole of a file that has no other: status %d\n%s", status, stderr)
	}
}

// A journal of the short version is not gone on with as the whole, nor the other way round; the
// command that goes on says which it is.
func TestIntegrationResumeOfShort(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	file, out := filepath.Join(dir, "x.yaml"), filepath.Join(dir, "out")
	const text = "name: x\nfactors: {rx: tcp, tx: [tcp, sendfile]}\nshort: {exclude: [{tx: sendfile}]}\n" +
		"duration: 100ms\nramp_up: 0s\nramp_down: 0s\nwarmup: false\nrepetitions: 1\nrest: 0s\npace: 1G\n" +
		"gates: {foreign_cores: off}\npurpose: check\n"
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	// What other work of the machine makes of the run does not matter.
	if status, text, stderr := zcbench(t, "matrix", file, "--out", out); status > 1 {
		t.Fatalf("status %d\n%s%s", status, text, stderr)
	}
	j := journal(t, out)
	if len(j.Header.Cells) != 1 || len(j.Records) == 0 || !j.Header.Plan.Short {
		t.Errorf("%d cells, %d runs, short: %v", len(j.Header.Cells), len(j.Records), j.Header.Plan.Short)
	}
	if p, err := matrix.Replay("j", j.Header.Plan); err != nil || !p.Spec.Short {
		t.Errorf("replayed: %+v, %v", p, err)
	}
	if html, err := os.ReadFile(filepath.Join(out, results.ReportFile)); err != nil ||
		!strings.Contains(string(html), "short version of the file") {
		t.Errorf("the report does not say that it is of the short version: %v", err)
	}
	const says = "--whole must be given as it was when it began, or not"
	if status, _, stderr := zcbench(t, "matrix", file, "--out", out, "--resume", "--whole"); status != 2 ||
		!strings.Contains(stderr, says) {
		t.Errorf("as the whole: status %d\n%s", status, stderr)
	}
	if status, _, stderr := zcbench(t, "matrix", file, "--out", out, "--resume"); status > 1 {
		t.Errorf("as it began: status %d\n%s", status, stderr)
	}
	for whole, want := range map[bool]string{false: "zcbench matrix a.yaml --out o --resume",
		true: "zcbench matrix a.yaml --whole --out o --resume"} {
		if got := (&matrixFlags{whole: whole, out: "o"}).again("a.yaml"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
