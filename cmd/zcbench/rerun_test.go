// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/survey"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
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
gates: {throughput_cv: off, cpu_cv: off, drift: off, foreign_cores: off, retrans_per_gb: off, drops_per_gb: off, replace: 0}
`

// An experiment is made again from its folder alone: the file is gone. It is the same plan, and
// what is another one is named: the sysctl that was changed meanwhile, the boot that was not.
func TestIntegrationRerun(t *testing.T) {
	long.Test(t)
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
	if is.Header.Plan.Hash != was.Header.Plan.Hash || is.Header.Plan.File != madeAgain ||
		is.Header.SessionID == was.Header.SessionID {
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
	for name, args := range map[string][]string{"choose another folder": {"rerun", first, "--out", second},
		"holds no results": {"rerun", dir}} {
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
	if err := os.WriteFile(path, bytes.Replace(b, []byte(`"Repetitions":2`), []byte(`"Repetitions":3`), 1),
		0o666); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := zcbench(t, "rerun", first, "--dry-run"); status != 2 ||
		!strings.Contains(stderr, path+": its plan") {
		t.Errorf("exit status %d: %s", status, stderr)
	}
}

// The results go into the working folder: beside DIR, somebody else may have put a link.
func TestRerunOutput(t *testing.T) {
	base := t.TempDir()
	if err := os.MkdirAll(filepath.Join(base, "theirs", "quick"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(base, "theirs"))
	for dir, want := range map[string]string{"quick": "quick-again", "./quick/": "quick-again", ".": "theirs-again",
		filepath.Join(base, "theirs", "quick"): "quick-again", "..": filepath.Base(base) + "-again"} {
		if out, err := outAgain(dir); err != nil || out != want {
			t.Errorf("%s: %q, %v, want %q", dir, out, err, want)
		}
	}
	if out, err := outAgain("/"); err == nil || !strings.Contains(err.Error(), "give --out") {
		t.Errorf("%q, %v", out, err)
	}
	if err := os.Symlink("/etc", "quick-again"); err != nil {
		t.Fatal(err)
	}
	if out, err := outAgain("quick"); err == nil || !strings.Contains(err.Error(), "is not a folder") {
		t.Errorf("%q, %v", out, err)
	}
}

// folderOf is a results folder of a plan that has no runs.
func folderOf(t *testing.T, spec *matrix.Spec, sources ...string) (dir string) {
	t.Helper()
	played, err := (&matrix.Played{Spec: spec}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "first")
	w, err := results.Create(dir, results.Header{Plan: &plan.Origin{Name: spec.Name, Hash: spec.Hash(), Played: played,
		Power: &plan.PowerPlan{Sources: sources, IntervalS: .1, IdleS: 3, GuardS: 1}}})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// What flags say counts before the folder is: on another host nothing of the former one is
// asked for, and sources that no folder can name are replaced.
func TestRerunElsewhere(t *testing.T) {
	spec, err := matrix.Parse("x.yaml", []byte(`
name: x
factors: {rx: tcp, tx: tcp, cpu_layout: 2cpu}
sut: {host: "ssh:a", dev: eth1, addr: 10.0.0.1, node: 1, layouts: {2cpu: {app: 5, irq: 4}}}
tg: {host: "ssh:b", dev: eth2, cpu: 3}
`))
	if err != nil {
		t.Fatal(err)
	}
	dir := folderOf(t, spec, "command=meter#ab12")
	replay := func(args ...string) (*matrix.Played, string, error) {
		t.Helper()
		var f rerunFlags
		cmd := &cobra.Command{}
		f.define(cmd)
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		var notes strings.Builder
		p, err := f.played(dir, func(format string, args ...any) { fmt.Fprintf(&notes, format+"\n", args...) })
		return p, notes.String(), err
	}
	if _, _, err := replay(); err == nil || !strings.Contains(err.Error(), "name the sources with --power") {
		t.Errorf("a hash would be run: %v", err)
	}
	p, notes, err := replay("--power=", "--sut=ssh:c", "--tg=ssh:b", "--dev=eth7")
	if err != nil {
		t.Fatal(err)
	}
	if s := p.Spec.SUT; s.Host != "ssh:c" || s.Dev != "eth7" || s.Addr != "" || s.Node != nil || s.Layouts != nil {
		t.Errorf("SUT %+v", s)
	}
	if s := p.Spec.TG; s.Host != "ssh:b" || s.Dev != "eth2" || s.CPU == nil { // the same
		t.Errorf("TG %+v", s)
	}
	if want := "--sut ssh:c: not taken from the folder: interface eth1, address 10.0.0.1, CPUs 5,4 of layout " +
		"2cpu, NUMA node 1\n"; notes != want {
		t.Errorf("%q, want %q", notes, want)
	}
	if p, _, err := replay("--power=", "--sut=ssh:c", "--addr=10.0.0.9", "--tg-dev=eth8"); err != nil ||
		p.Spec.SUT.Addr != "10.0.0.9" || p.Spec.TG.Dev != "eth8" || p.Spec.SUT.Dev != "" {
		t.Errorf("%+v, %v", p, err)
	}
	// CPUs and nodes, where the plan has a place for them, and what is another one is said.
	p, notes, err = replay("--power=", "--cpus=5,4", "--tg-node=1", "--node=any")
	if want := "not as before: sut: NUMA node any, was 1\nnot as before: tg: NUMA node 1, was that of the " +
		"interface\n"; err != nil || notes != want {
		t.Errorf("%q, %v, want %q", notes, err, want)
	}
	if *p.Spec.SUT.Node != matrix.AnyNode || *p.Spec.TG.Node != 1 ||
		p.Spec.SUT.Layouts["2cpu"] != (matrix.Layout{App: 5, IRQ: 4}) {
		t.Errorf("%+v", p.Spec)
	}
	p, notes, err = replay("--power=", "--cpus=7,6", "--tg-cpus=2,1")
	if want := "not as before: sut: CPUs 7,6 of layout 2cpu, were 5,4\nnot as before: tg: CPUs 2,1 of layout " +
		"2cpu, were chosen\n"; err != nil || notes != want {
		t.Errorf("%q, %v, want %q", notes, err, want)
	}
	if p.Spec.SUT.Layouts["2cpu"] != (matrix.Layout{App: 7, IRQ: 6}) ||
		p.Spec.TG.Layouts["2cpu"] != (matrix.Layout{App: 2, IRQ: 1}) ||
		p.Spec.Called("tg.layouts.2cpu.app") != "--tg-cpus" {
		t.Errorf("%+v", p.Spec)
	}
	for flag, want := range map[string]string{"--cpus=3,3": "is the layout 1cpu, which no cell of the plan has",
		"--tg-cpus=3": "want two numbers", "--node=near": "--node"} {
		if _, _, err := replay("--power=", flag); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", flag, err, want)
		}
	}
	if _, _, err := replay("--power=", "--addr=a.example"); err == nil || !strings.Contains(err.Error(), "--addr") {
		t.Error(err)
	}
	if len(p.Spec.Power.Sources) != 0 || p.Spec.Power.Idle == nil {
		t.Errorf("power %+v", p.Spec.Power)
	}
}

// A dry run compares nothing.
func TestRerunDryJSON(t *testing.T) {
	cmd := rerunCommand()
	cmd.SetArgs([]string{"x", "--dry-run", "--json"})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	var status *cli.StatusError
	if err := cmd.Execute(); !errors.As(err, &status) || status.Status != cli.Usage ||
		!strings.Contains(err.Error(), "--json") {
		t.Error(err)
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
	var facts []survey.Fact
	for _, f := range s.Facts {
		if f.Name == "sysctl/net.ipv4.tcp_rmem" {
			f.Value = "4711"
		}
		facts = append(facts, f)
	}
	in, err := results.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	now, err := environment.Write(in, survey.New(facts))
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
