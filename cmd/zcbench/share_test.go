// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/plantest"
	"github.com/zcbench/zcbench/results/share"
)

// What is shared is shown first, line by line, written once, and never over another file.
func TestShare(t *testing.T) {
	dir := t.TempDir()
	zero := 0.0
	j := plantest.Journal(1, 6, plantest.Cell{Cell: plantest.Modes("tcp", "tcp"), Gbps: 20, Cores: 1, TGCores: 1,
		CV: .01},
		plantest.Cell{Cell: plantest.Modes("zcrx", "tcp"), Gbps: 30, Cores: 1, TGCores: 1, CV: .01, RXCopied: &zero})
	w, err := results.Create(filepath.Join(dir, "out"), j.Header)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range j.Records {
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	said := string(ran(t, dir, "zcbench share out --dry-run"))
	if left, _ := filepath.Glob(filepath.Join(dir, "zcbench-*")); len(left) != 0 || !strings.Contains(said,
		"exit status 0") || !strings.Contains(said, "nothing was written") {
		t.Errorf("%q, %s", left, said)
	}
	said = string(ran(t, dir, "zcbench share out"))
	made, _ := filepath.Glob(filepath.Join(dir, "zcbench-unknown-6.18.5-20*.json"))
	if len(made) != 1 {
		t.Fatalf("%q, %s", made, said)
	}
	text, err := os.ReadFile(made[0])
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said, string(text)) || !strings.Contains(said, "Nothing was sent") ||
		plaintext.Clean(string(text)) != string(text) {
		t.Errorf("not shown as it is: %s", said)
	}
	if _, err := share.Parse(text); err != nil {
		t.Error(err)
	}
	if said := string(ran(t, dir, "zcbench share out")); !strings.Contains(said, "exit status 2") ||
		!strings.Contains(said, "nothing is overwritten") {
		t.Error(said)
	}
	if said := string(ran(t, dir, "zcbench share out --to b.json")); !strings.Contains(said, "exit status 0") {
		t.Error(said)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "b.json")); err != nil || string(b) != string(text) {
		t.Errorf("another file of the same folder: %v", err)
	}
	if said := string(ran(t, dir, "zcbench share nowhere")); !strings.Contains(said, "exit status 2") {
		t.Error(said)
	}
}
