// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/environment"
)

const madeAgain = `
name: again
factors: {rx: [tcp, uring], tx: tcp, message: 1M}
duration: 150ms
ramp_up: 30ms
ramp_down: 20ms
repetitions: 2
seed: 7
purpose: check
gates: {throughput_cv: off, cpu_cv: off, drift: off, foreign_cores: off, retrans_per_gb: off, drops_per_gb: off}
`

// An experiment is made again from its folder alone: the file is gone. It is the same plan, and
// what is another one is named: the sysctl that was changed meanwhile, the boot that was not.
func TestIntegrationRerun(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	file, first, second := filepath.Join(dir, "again.yaml"), filepath.Join(dir, "first"), filepath.Join(dir, "second")
	if err := os.WriteFile(file, []byte(madeAgain), 0o666); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := zcbench(t, "matrix", file, "--out", first); status > 1 { // 1: a busy machine spoils runs
		t.Fatal(status, stderr)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	was := journal(t, first)
	differently(t, first, &was)

	status, out, stderr := zcbench(t, "rerun", first, "--out", second)
	if status > 1 {
		t.Fatal(status, stderr)
	}
	is := journal(t, second)
	if is.Header.Plan.Hash != was.Header.Plan.Hash || is.Header.Plan.File != madeAgain || is.Header.SessionID == was.Header.SessionID {
		t.Errorf("plan %+v, was %+v", is.Header.Plan, was.Header.Plan)
	}
	if a, b := order(was), order(is); !reflect.DeepEqual(a, b) {
		t.Errorf("the order was %v, is %v", a, b)
	}
	for _, want := range []string{`SUT: sysctl/net.ipv4.tcp_rmem was "4711", now "`, "A = " + first, "B = " + second} {
		if !strings.Contains(stderr+out, want) {
			t.Errorf("no %q in\n%s\n%s", want, stderr, out)
		}
	}
	if strings.Contains(stderr, "boot") {
		t.Errorf("the boot is the same:\n%s", stderr)
	}

	// Into a folder that has results it is not made; from one that is none neither.
	for name, args := range map[string][]string{"choose another folder": {"rerun", first, "--out", second}, "holds no results": {"rerun", dir}} {
		if status, _, stderr := zcbench(t, args...); status != 2 || !strings.Contains(stderr, name) {
			t.Errorf("%v: exit status %d: %s", args, status, stderr)
		}
	}
	// A plan that somebody changed is not played, with the journal's name.
	path := filepath.Join(first, results.JournalFile)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(b, []byte(`"Repetitions":2`), []byte(`"Repetitions":3`), 1), 0o666); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := zcbench(t, "rerun", first, "--dry-run"); status != 2 || !strings.Contains(stderr, path+": its plan") {
		t.Errorf("exit status %d: %s", status, stderr)
	}
}

// order is which cell ran after which.
func order(j results.Journal) (cells []string) {
	for _, r := range j.Records {
		cells = append(cells, r.Cell.ID)
	}
	return cells
}

// differently puts another snapshot of the SUT in the place of that of the plan: as if a sysctl
// had been another.
func differently(t *testing.T, dir string, j *results.Journal) {
	t.Helper()
	hash := j.Header.Plan.SUT.Environment
	s, err := environment.Open(dir).Get(hash)
	if err != nil {
		t.Fatal(err)
	}
	var facts []environment.Fact
	for _, f := range s.Facts {
		if f.Name == "sysctl/net.ipv4.tcp_rmem" {
			f.Value = "4711"
		}
		facts = append(facts, f)
	}
	now, err := environment.Write(dir, environment.New(facts))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, results.JournalFile)
	b, err := os.ReadFile(path)
	if err == nil {
		head, rest, _ := bytes.Cut(b, []byte("\n"))
		head = bytes.Replace(head, []byte(`"environment":"`+hash), []byte(`"environment":"`+now), 1)
		err = os.WriteFile(path, append(append(head, '\n'), rest...), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}
