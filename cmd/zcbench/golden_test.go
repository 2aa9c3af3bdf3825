// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/cmd/internal/cli"
)

// What users see is on record in testdata/golden, so that a change of the code's shape
// shows whether it changed anything else:
//
//	go test ./cmd/zcbench -run TestGolden -update
//
// writes the records anew; then the difference says what users will see differently.
var update = flag.Bool("update", false, "write testdata/golden anew")

// golden compares what there is with the record.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); d != "" {
		t.Errorf("%s (-record +now):\n%s", path, d)
	}
}

// steady replaces what differs between machines.
func steady(text []byte, dirs ...string) []byte {
	for _, x := range [][2]string{
		{`(online are|there are:|interfaces are:|CPUs of this host are) [^\n;]*`, "$1 THOSE"},
		{`native, giouring`, "native"}, // which engines are built in
		{`available now: [^\n]*`, "available now: THOSE"},
		{`zcbench version \S+`, "zcbench version V"},
		{`"/[^"]*/\.cache/zcbench`, `"~/.cache/zcbench`},
	} {
		text = regexp.MustCompile(x[0]).ReplaceAll(text, []byte(x[1]))
	}
	for _, d := range dirs {
		text = bytes.ReplaceAll(text, []byte(d), []byte("DIR"))
	}
	return text
}

// ran is a command's exit status and what it printed.
func ran(t *testing.T, dir, line string, env ...string) []byte {
	t.Helper()
	bin := built.Dir(t)
	args := strings.Fields(line)
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, args[0]), args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "XDG_CACHE_HOME=", "TERM=dumb", "COLUMNS=")
	cmd.Env = append(cmd.Env, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if x := (*exec.ExitError)(nil); err != nil && !errors.As(err, &x) {
		t.Fatalf("%s: %v", line, err)
	}
	return fmt.Appendf(nil, "$ %s\nexit status %d\n%s%s\n", line, cmd.ProcessState.ExitCode(), stdout.Bytes(),
		stderr.Bytes())
}

// beginning is the first lines of a long file, and the sum of the whole.
func beginning(text []byte) []byte {
	var out []byte
	lines := bytes.SplitAfterN(text, []byte("\n"), 11)
	for _, l := range lines[:len(lines)-1] {
		out = append(out, l...)
	}
	return fmt.Appendf(out, "%d bytes, SHA-256 %x\n", len(text), sha256.Sum256(text))
}

// TestGoldenHelp keeps the help of every command.
func TestGoldenHelp(t *testing.T) {
	var lines []string
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		lines = append(lines, c.CommandPath()+" --help")
		if len(cli.FirstOf(c)) > 0 {
			lines = append(lines, c.CommandPath()+" --help-all")
		}
		for _, sub := range c.Commands() {
			if !sub.Hidden {
				walk(sub)
			}
		}
	}
	walk(command())
	var got []byte
	dir := t.TempDir()
	for _, line := range append(lines, "zcrecv --help", "zcrecv --help-all", "zcsend --help", "zcsend --help-all") {
		got = append(got, ran(t, dir, line)...)
	}
	golden(t, "help.golden", steady(got, dir))
}

// TestGoldenWrong keeps the messages and exit statuses of wrong commands.
func TestGoldenWrong(t *testing.T) {
	in, err := txtar.ParseFile("testdata/golden/wrong.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range in.Files {
		path := filepath.Join(dir, f.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, f.Data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	var got []byte
	for line := range strings.Lines(string(in.Comment)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			got = append(got, ran(t, dir, line)...)
		}
	}
	golden(t, "wrong.golden", steady(got, dir))
}

// TestGoldenResults keeps what is made of the journals of two measured plans, written by
// schema 2: tables, CSV files, comparisons, benchmark lines.
func TestGoldenResults(t *testing.T) {
	dir := t.TempDir()
	unpack(t, dir)
	for _, x := range []struct{ record, line string }{
		{"report.golden", "zcbench report a"},
		{"idle.golden", "zcbench report --idle a"},
		{"report.json.golden", "zcbench report --json a"},
		{"compare.golden", "zcbench compare a"},
		{"compare_two.golden", "zcbench compare a b"},
		{"compare.json.golden", "zcbench compare --json a b"},
		{"export.golden", "zcbench export --csv --benchfmt --json a"},
	} {
		golden(t, x.record, steady(ran(t, dir, x.line), dir))
	}
	for _, name := range []string{"runs.csv", "metrics.csv", "samples.csv", "flows.csv", "runs.bench"} {
		text, err := os.ReadFile(filepath.Join(dir, "a", name))
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".golden", beginning(text))
	}
}

// unpack puts the two measured plans into folders a and b.
func unpack(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"a", "b"} {
		packed, err := os.Open(filepath.Join("testdata", "golden", "journal-v2-"+name+".jsonl.gz"))
		if err != nil {
			t.Fatal(err)
		}
		defer packed.Close()
		r, err := gzip.NewReader(packed)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Mkdir(filepath.Join(dir, name), 0o755),
			os.WriteFile(filepath.Join(dir, name, "journal.jsonl"), text, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}
