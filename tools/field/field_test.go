// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestContendersThatAreMissing(t *testing.T) {
	bin, programs := t.TempDir(), t.TempDir()
	if _, err := contenders(bin, programs); err == nil || !strings.Contains(err.Error(), "nothing to compare with") {
		t.Error(err)
	}
	for _, p := range []string{filepath.Join(bin, "zcrecv"), filepath.Join(bin, "zcsend"),
		filepath.Join(programs, "zcrx"), filepath.Join(programs, "kperf-server")} {
		if err := os.WriteFile(p, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	all, err := contenders(bin, programs)
	var names []string
	for _, c := range all {
		names = append(names, c.name)
	}
	if got := strings.Join(names, ", "); err != nil || got != "zcbench zcrx, liburing zcrx" {
		t.Errorf("%s, %v", got, err)
	}
}

// Pairs with a run that failed do not count, and each group has its own first.
func TestTable(t *testing.T) {
	all := []contender{{name: "a", group: "g"}, {name: "b", group: "g"}, {name: "c", group: "h"},
		{name: "d", group: "h"}}
	run := func(bytes, cpu uint64) measured {
		return measured{seconds: 1, reading: reading{bytes: bytes, app: cpu / 2, napi: cpu / 2, all: 2 * cpu}}
	}
	runs := map[string][]measured{
		"a": {run(200e6, 100e6), run(200e6, 100e6), run(200e6, 100e6)},
		"b": {run(100e6, 100e6), {err: errors.New("no")}, run(100e6, 100e6)},
		"c": {{err: errors.New("no")}}, "d": {run(1, 1)},
	}
	var b strings.Builder
	if err := printTable(&b, all, runs); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if f := strings.Fields(lines[1]); strings.Join(f,
		" ") != "a b 200.0 100.0 2.000 250.0 500.0 0.500 500.0 1000.0 0.500 1000.0 2000.0 0.500 2 of 3" {
		t.Errorf("%q", f)
	}
	if !strings.Contains(lines[2], "no pair of runs") || strings.Contains(b.String(), "  d  1") {
		t.Error(b.String())
	}
}

func TestOwnCPUTime(t *testing.T) {
	if parent("/proc/self/stat") != os.Getppid() {
		t.Errorf("parent %d, want %d", parent("/proc/self/stat"), os.Getppid())
	}
}
