// SPDX-License-Identifier: MIT

package main

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/long"
)

// folderInDocs is a results folder that a page names.
var folderInDocs = regexp.MustCompile(`\bout/[a-z0-9-]+`)

// quicker makes the pages' measurements few.
var quicker = strings.NewReplacer("--repetitions 6", "--repetitions 1", "--warmup ", "")

// kindOf is a command without what its arguments are.
func kindOf(line string) string {
	var kind []string
	for i, w := range strings.Fields(line) {
		if name, _, _ := strings.Cut(w, "="); i < 2 || strings.HasPrefix(w, "--") {
			kind = append(kind, name)
		}
	}
	return strings.Join(kind, " ")
}

// The pages' commands that need no other host, no NIC and no time do what the pages say, in a
// folder where the results that the pages speak of are there. The short run takes one of each kind.
func TestDocCommandsRun(t *testing.T) {
	dir := t.TempDir()
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"experiments", "results"} {
		if err := os.Symlink(filepath.Join(repo, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for _, c := range docCommands(t) {
		for _, line := range shellParts(c.text) {
			once := strings.Join(strings.Fields(line), " ")
			if !long.Wanted() {
				once = kindOf(line)
			}
			if seen[once] || !runHere.MatchString(line) || reason(line) != "" {
				continue
			}
			seen[once] = true
			if strings.Contains(line, "matrix --dry-run") && os.Geteuid() != 0 {
				t.Logf("%s: %s: needs root", c.at, line)
				continue
			}
			t.Logf("%s: %s", c.at, line)
			if strings.HasPrefix(line, "zcbench run --sut") {
				measureAsDocs(t, dir, c.at, line)
				continue
			}
			line = strings.ReplaceAll(line, "@rx=zcrx", "@rx=uring") // which the recorded results have
			line = strings.ReplaceAll(line, "/var/lib/node_exporter/textfile/", dir+"/")
			for _, f := range folderInDocs.FindAllString(line, -1) {
				resultsFor(t, filepath.Join(dir, f), strings.Contains(f, "again") || strings.Contains(f, "after") ||
					strings.Contains(f, "new"))
			}
			got := string(ran(t, dir, line))
			switch {
			case strings.Contains(got, "\nexit status 0\n"):
			// the status is the answer
			case strings.Contains(line, "--fail-if-slower") && !strings.Contains(got, "\nexit status 2\n"):
			default:
				t.Errorf("%s: %s", c.at, got)
			}
		}
	}
	if len(seen) < long.Rounds(10, 20) {
		t.Errorf("%d commands ran", len(seen))
	}
}

// measureAsDocs runs a measurement of the pages, for a shorter time than they say, and so that
// other work does not end it.
func measureAsDocs(t *testing.T, dir, at, line string) {
	t.Helper()
	if !strings.Contains(line, "--duration") {
		line += " --duration 3s"
	}
	line = quicker.Replace(line) + " --ramp-up 100ms --gate foreign_cores=off --gate replace=0 --gate coverage=off"
	longer(t, 300*time.Millisecond, func(d string) (lacking string) {
		for _, f := range folderInDocs.FindAllString(line, -1) { // another page may have spoken of it
			if err := os.RemoveAll(filepath.Join(dir, f)); err != nil {
				t.Fatal(err)
			}
		}
		got := string(ran(t, dir, strings.Replace(line, "--duration 3s", "--duration "+d, 1)))
		switch {
		case strings.Contains(got, "\nexit status 0\n"):
		case strings.Contains(got, "\nexit status 1\n") && (strings.Contains(got, " ms late") ||
			strings.Contains(got, "no payload was transferred")):
			return "other tests kept the CPUs: " + at + ": " + got
		default:
			t.Errorf("%s: %s", at, got)
		}
		return ""
	})
}

// resultsFor puts recorded results where a page has them.
func resultsFor(t *testing.T, dir string, later bool) {
	t.Helper()
	name := "journal-v2-a.jsonl.gz"
	if later {
		name = "journal-v2-b.jsonl.gz"
	}
	if _, err := os.Stat(filepath.Join(dir, "journal.jsonl")); err == nil {
		return
	}
	in, err := os.Open(filepath.Join("testdata/golden", name))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err = errors.Join(err, os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "journal.jsonl"), b,
		0o644)); err != nil {
		t.Fatal(err)
	}
}
