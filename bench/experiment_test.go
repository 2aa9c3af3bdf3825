// SPDX-License-Identifier: MIT

package bench

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

const small = `
name: small
factors: {rx: [tcp, uring, devmem], tx: tcp, message: 1M}
duration: 100ms
ramp_up: 30ms
ramp_down: 20ms
repetitions: 2
gates: {throughput_cv: off, cpu_cv: off, drift: off, foreign_cores: off, replace: 0}
`

func experiment(t *testing.T, text string) *Experiment {
	t.Helper()
	spec, err := matrix.Parse("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &Experiment{Spec: spec, Dir: filepath.Join(t.TempDir(), "out"), ToolVersion: version.Tool(),
		Progress: &heard{}, Note: t.Logf}
}

func kept(t *testing.T, dir string) (results.Journal, map[string]int) {
	t.Helper()
	j, err := results.Read(filepath.Join(dir, results.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, r := range j.Records {
		if !r.Warmup && r.Verdict != results.Failed {
			n[r.Cell.ID]++
		}
	}
	return j, n
}

// An experiment that was stopped and resumed has every run once.
func TestIntegrationExperimentResume(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	e := experiment(t, small)
	ctx, cancel := context.WithCancelCause(t.Context())
	e.Progress = &heard{onBegin: func(n int) {
		if n == 3 {
			cancel(errors.New("enough"))
		}
	}}
	recs, err := e.Run(ctx)
	if err == nil || !strings.Contains(err.Error(), "enough") || len(recs) == 0 {
		t.Fatalf("%d records, %v", len(recs), err)
	}
	j, _ := kept(t, e.Dir)
	if p := j.Header.Plan; p == nil || p.Hash != e.Spec.Hash() || p.Seed != 1 || len(p.Binary) != 64 ||
		p.File != small || p.SUT.Kernel == "" ||
		p.SUT.Dev != "zcsut" || p.TG.Dev != "zctg" || p.SUT.Driver != "veth" || p.Power == nil ||
		len(p.Power.Sources) != 0 {
		t.Errorf("plan %+v", p)
	}

	// Not into a folder that has results, not under another plan.
	if _, err := e.Run(t.Context()); !errors.Is(err, results.ErrExists) {
		t.Errorf("run again: %v", err)
	}
	e.Begin = Resume
	other := *e
	other.Spec = experiment(t, strings.Replace(small, "repetitions: 2", "repetitions: 3", 1)).Spec
	if _, err := other.Run(t.Context()); !errors.Is(err, ErrChanged) ||
		!strings.Contains(err.Error(), "plan has changed") {
		t.Errorf("another plan: %v", err)
	}
	measured := *e
	measured.Power = PowerOptions{Later: true, Guard: time.Second}
	if _, err := measured.Run(t.Context()); !errors.Is(err, ErrChanged) ||
		!strings.Contains(err.Error(), "power: was not measured; now later") {
		t.Errorf("with power: %v", err)
	}

	// As kill -9 would leave it.
	path := filepath.Join(e.Dir, results.JournalFile)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"schema":2,"run_id":"torn`)
	f.Close()

	var notes bytes.Buffer
	e.Note = func(format string, args ...any) { notes.WriteString(format + "\n"); t.Logf(format, args...) }
	e.Progress = &heard{}
	if _, err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(notes.String(), "incomplete") {
		t.Errorf("the torn line is not told: %s", notes.String())
	}
	j, n := kept(t, e.Dir)
	if len(j.Skipped) != 0 || n["tcp/tcp"] != 2 || n["uring/tcp"] != 2 || n["devmem/tcp"] != 1 {
		t.Errorf("runs %v, skipped %v", n, j.Skipped)
	}
	sessions := map[string]bool{}
	for _, r := range j.Records {
		sessions[r.SessionID] = true
	}
	if len(sessions) != 2 {
		t.Errorf("%d sessions", len(sessions))
	}
	// Once more there is nothing to do.
	if recs, err := e.Run(t.Context()); err != nil || len(recs) != 0 {
		t.Errorf("%d records, %v", len(recs), err)
	}
}

func TestIntegrationDryRun(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	e := experiment(t, strings.Replace(small, "tx: tcp,", "tx: tcp, mtu: [4148, 9000], cpu_layout: 2cpu,", 1))
	var b bytes.Buffer
	if err := e.DryRun(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"experiment small, plan ", "6 cells", "unsupported [1]", "12 runs, about ",
		"if every cell could run: 18 runs"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if _, err := os.Stat(e.Dir); err == nil {
		t.Error("a dry run wrote something")
	}
	e.Power = PowerOptions{Auto: true, Idle: 10 * time.Second, Guard: 5 * time.Second}
	b.Reset()
	if err := e.DryRun(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	// 12 runs with two ramps of 5 s, of them 8 that count with a rest of 15 s, one rest before,
	// and 6 before runs that have other settings than the one before them.
	const want = "12 runs, about 5m48s\nin it, to measure idle power and what the CPUs do at rest, 15s of rest"
	if !strings.Contains(b.String(), want) {
		t.Errorf("no %q in\n%s", want, b.String())
	}
}

func TestStatic(t *testing.T) {
	e := experiment(t, "name: x\nfactors: {rx: [tcp, tcp-trunc], tx: tcp, touch: verify}\n")
	if m := plan.CannotRun(&e.Spec.Cells[0], nil); m != nil {
		t.Errorf("%+v", m)
	}
	if m := plan.CannotRun(&e.Spec.Cells[1], nil); m == nil || !strings.Contains(m.Reason, "never gets the payload") {
		t.Errorf("%+v", m)
	}
}

// A cell ends after an even number of repetitions, and the dry run knows it.
func TestDryRunOfSearches(t *testing.T) {
	e := experiment(t, "name: x\nfactors: {rx: udp, tx: udp, pace: [none, loss-free]}\nrepetitions: 4\nduration: "+
		"1s\nramp_up: 0s\nramp_down: 0s\nrest: 0s\nwarmup: false\nloss_free: {resolution: 25%, confirm: 3, "+
		"trials: 30}\n")
	var b bytes.Buffer
	preview{spec: e.Spec, missing: func(plan.Cell) *Missing { return nil }}.time(&b)
	// 4 runs and 4 searches of 3 + 2 + 3 trials, each of 1.17 s.
	for _, want := range []string{"8 runs, about 42s\n", "4 searches",
		"no more than 0 % are lost: about 8 trials of 1.17s each, 9s a search",
		"at most 30 trials, and then 2m25s in all"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
}

func TestDryRunAdaptive(t *testing.T) {
	for text, want := range map[string]string{"min: 7": "narrow enough after 8\n", "min: 8": "narrow enough after 8\n",
		"min: 9": "narrow enough after 9\n"} {
		e := experiment(t, "name: x\nfactors: {rx: tcp, tx: tcp}\nrepetitions: 9\nadaptive: {interval: 1%, "+text+"}\n")
		var b bytes.Buffer
		preview{spec: e.Spec, missing: func(plan.Cell) *Missing { return nil }}.time(&b)
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s: %q, want %q", text, b.String(), want)
		}
	}
}
