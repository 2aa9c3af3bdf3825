// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What make removes is what it built. Results, and what else lies there, stay.
func TestMakeRemovesNothingOfOthers(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed")
	}
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command("make", append([]string{"-I", repo, "-f", repo + "/Makefile", "-o", "build", "GO=true"},
			args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make %v: %v\n%s", args, err, out)
		}
	}
	found := func(pattern string, want int) {
		t.Helper()
		if all, _ := filepath.Glob(filepath.Join(dir, pattern)); len(all) != want {
			t.Errorf("%s: %v, want %d", pattern, all, want)
		}
	}
	put("bin/zcbench", "#!/bin/sh\nexit 0\n")
	put("mk/probe-overhead.sh", "#!/bin/sh\nexit 0\n")
	put("bin/notes", "")
	put("out/probe-cost/journal.jsonl", "")
	put("out/demo/journal.jsonl", "")
	run("bench-probes")
	run("demo")
	found("out/probe-cost*/journal.jsonl", 1)
	found("out/demo*/journal.jsonl", 1)
	run("clean")
	found("bin/zcbench", 0)
	found("bin/notes", 1)
	if err := os.Remove(filepath.Join(dir, "bin/notes")); err != nil {
		t.Fatal(err)
	}
	run("clean")
	found("bin", 0)
	run("clean")
	found("out/*/journal.jsonl", 2)
}
