// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/zcbench/zcbench/bench/tune"
	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/power/powertest"
	"github.com/zcbench/zcbench/results"
)

const tuned = `name: t
sut: {host: "netns:%s", dev: %s}
tg: {host: "netns:%s"}
touch: verify
rx_buffer: hot
congestion: cubic
gates: {foreign_cores: off}
turn: 20ms
duration: 100ms
repetitions: 2
factors:
  rx: [tcp, uring]
  tx: [tcp]
  message: [64K]
  read: [64K, 128K]
  gro: [true, false]
`

// What tune found is confirmed in other starts, apart from the search, byte for byte; killed at any
// time it goes on, and what it set on the hosts is restored.
func TestIntegrationTune(t *testing.T) {
	kind.Timed(t)
	pair := newHosts(t)
	before := both(t, pair)
	dir := t.TempDir()
	file, out := filepath.Join(dir, "t.yaml"), filepath.Join(dir, "out")
	text := fmt.Sprintf(tuned, pair.SUT.Netns.Path(), pair.SUT.Dev, pair.TG.Netns.Path())
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"tune", "--for", "throughput", file, "--for-time", "30s", "--out", out}
	p := built.Start(t, "zcbench", append(args, "--dry-run")...)
	if got := p.Wait(await.Hang); got != 0 || !strings.Contains(p.Out.String(), " of 5 combinations race") ||
		!strings.Contains(p.Out.String(), "gro: default, on, off") {
		t.Fatalf("dry run: exit status %d: %s%s", got, &p.Err, &p.Out)
	}
	if _, err := os.Stat(out); err == nil {
		t.Fatal("a dry run wrote results")
	}
	lines := func(dir string) int {
		b, _ := os.ReadFile(filepath.Join(dir, results.JournalFile))
		return strings.Count(string(b), `"run_id"`)
	}
	search := filepath.Join(out, tune.SearchDir)
	for _, killed := range []struct {
		dir  string
		runs int
	}{{search, 3}, {out, 1}} {
		p = built.Start(t, "zcbench", args...)
		await.Until(t, "runs in "+killed.dir, func() bool {
			return lines(killed.dir) > killed.runs ||
				!running(p.Process.Pid)
		})
		p.Signal(syscall.SIGKILL)
		if p.Wait(await.Hang); lines(killed.dir) <= killed.runs {
			t.Fatalf("%s has %d runs: %s", killed.dir, lines(killed.dir), &p.Err)
		}
		if !strings.Contains(strings.Join(args, " "), "--resume") {
			args = append(args, "--resume")
		}
	}
	frozen, err := os.ReadFile(filepath.Join(out, tune.BestFile))
	if err != nil {
		t.Fatal(err)
	}
	p = built.Start(t, "zcbench", append(args, "--json")...)
	var r tune.Report
	if got := p.Wait(await.Hang); got != 0 || json.Unmarshal([]byte(p.Out.String()), &r) != nil || len(r.Modes) == 0 {
		t.Fatalf("exit status %d: %s%s", got, &p.Err, &p.Out)
	}
	told := len(r.Modes)
	for _, c := range r.Cannot { // of a mode that this machine has no time for
		if c.What == "" {
			told++
		}
	}
	if told != 2 {
		t.Errorf("%d of 2 modes are told of: %s", told, &p.Out)
	}
	if now, err := os.ReadFile(filepath.Join(out, tune.BestFile)); err != nil || string(now) != string(frozen) {
		t.Errorf("the winners changed: %v: %s", err, now)
	}
	spec, err := matrix.Parse("best.yaml", frozen)
	if err != nil {
		t.Fatal(err)
	}
	cells := map[string]bool{}
	for _, c := range spec.Cells {
		cells[c.ID] = true
	}
	searched := map[string]bool{}
	for _, r := range journal(t, search).Records {
		searched[r.RunID] = true
	}
	for _, at := range []string{search, out} {
		for _, r := range journal(t, at).Records {
			if m := r.SUT.Mismatches; r.Verdict == results.OK && (m == nil || *m != 0 || *r.SUT.Bytes == 0) {
				t.Errorf("%s: %s: mismatches %v", at, r.Cell.ID, m)
			}
			if r.Verdict == results.Failed || r.Verdict == results.Unsupported {
				t.Errorf("%s: %s: %s", at, r.Cell.ID, r.Reason)
			}
			if at == out && (!cells[r.Cell.ID] || searched[r.RunID]) {
				t.Errorf("%s of the search is in the comparison", r.Cell.ID)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(out, results.ReportFile)); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(before, both(t, pair)); diff != "" {
		t.Errorf("not restored: %s", diff)
	}
	p = built.Start(t, "zcbench", "matrix", "--dry-run", filepath.Join(out, tune.BestFile))
	if got := p.Wait(await.Hang); got != 0 || !strings.Contains(p.Out.String(), "order: turns") {
		t.Errorf("matrix %s: exit status %d: %s%s", tune.BestFile, got, &p.Err, &p.Out)
	}
}

// A search by power ends with verdicts of runs that each have their watts: by blocks, and in turns
// as long as a meter takes.
func TestIntegrationTunePower(t *testing.T) {
	kind.Timed(t)
	long.Test(t)
	const watts = 80
	for order, keys := range map[string]string{
		"blocks": "order: blocks\nduration: 400ms\nramp_up: 100ms\n",
		"turns":  "duration: 1s\n",
	} {
		pair := newHosts(t)
		dir := t.TempDir()
		file, out := filepath.Join(dir, "p.yaml"), filepath.Join(dir, "out")
		text := fmt.Sprintf(tuned, pair.SUT.Netns.Path(), pair.SUT.Dev, pair.TG.Netns.Path())
		head, _, _ := strings.Cut(text, "turn:")
		text = head + keys + "repetitions: 6\nfactors: {rx: [tcp], tx: [tcp], read: [4K, 128K]}\n"
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		p := built.Start(t, "zcbench", "tune", "--for", "roi_power", file, "--for-time", "4m", "--out", out, "--json",
			"--power", "sut:rapl?root="+powertest.Powercap(t, watts), "--power-idle", "300ms", "--power-guard", "100ms",
			"--power-interval", "20ms")
		var r tune.Report
		if got := p.Wait(4 * await.Hang); got != 0 || json.Unmarshal([]byte(p.Out.String()), &r) != nil {
			t.Fatalf("%s: exit status %d: %s%s", order, got, &p.Err, &p.Out)
		}
		t.Logf("%s: %s", order, &p.Out)
		if r.For != "roi_power" || len(r.Modes) != 1 || r.Modes[0].BestV == nil ||
			r.Modes[0].Gain != nil && r.Modes[0].Gain.Pairs == 6 && r.Modes[0].Gain.Low == 0 {
			t.Errorf("%s: %+v\n%s", order, r, &p.Err)
		}
		counted := 0
		for _, x := range journal(t, out).Records {
			if x.Warmup || x.Verdict != results.OK {
				continue
			}
			counted++
			if w := x.SUT.PowerW; w == nil || math.Abs(*w-watts) > .2*watts || x.SUT.ROIPower() == nil {
				t.Errorf("%s: %s has no watts, or others than %d: %s", order, x.Cell.ID, watts, &p.Err)
			}
		}
		if counted == 0 {
			t.Errorf("%s: no run of the confirmation counted: %s", order, &p.Err)
		}
	}
}

// The file that repeats a confirmation says the flags that it takes, but no secret.
func TestTuneRepeats(t *testing.T) {
	for _, x := range []struct {
		want string
		args []string
	}{
		{"", nil},
		{"", []string{"--power-idle", "5s"}},
		{"--shared-with-ssh --trust-file", []string{"--shared-with-ssh", "--tg", "exec:docker exec x"}},
		{"--power sut:rapl --power-idle 2s --power-guard 1s", []string{"--power", "sut:rapl"}},
		{"--power 'command=meter#093f' --power-interval 2s --power-idle 2s --power-guard 1s",
			[]string{"--power", "command=/bin/meter --password=abc", "--power-interval", "2s"}},
	} {
		var f tuneFlags
		cmd := &cobra.Command{}
		f.power.AddFlags(cmd, 2*time.Second, time.Second)
		cmd.Flags().BoolVar(&f.shared, "shared-with-ssh", false, "")
		cmd.Flags().StringVar(&f.tg, "tg", "", "")
		if err := cmd.ParseFlags(x.args); err != nil {
			t.Fatal(err)
		}
		f.power.Under(new(matrix.Power))
		if got := f.repeats(); got != x.want {
			t.Errorf("%q: %s, want %s", x.args, got, x.want)
		}
	}
}

// What cannot be meant is told, with what was meant.
func TestTuneFlags(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file := write("ok.yaml", fmt.Sprintf(tuned, "a", "b", "c"))
	touch := write("touch.yaml", "name: x\nfactors: {rx: [tcp], tx: [tcp], touch: [none, read]}\n")
	for args, want := range map[string]string{
		"--sut local --tg local": "--for: say what for: throughput, cpu, roi_cpu, " +
			"roi_power",
		"--for roi_cpus --sut local --tg local": "did you mean roi_cpu?",
		"--for cpu": "say between which hosts, --sut HOST --tg HOST, " +
			"or give an experiment file",
		"--for cpu --sut local":                               "say between which hosts",
		"--for cpu " + file + " --sut local":                  "leave out --sut, --tg",
		"--for cpu --sut local --tg local --rx tpc":           "did you mean tcp?",
		"--for cpu --sut nowhere: --tg local":                 "nowhere",
		"--for cpu --sut local --tg local --for-time 10ms":    "--for-time 10ms: must be 1s to 168h",
		"--for cpu --sut local --tg local --dry-run --json":   "--dry-run prints what would be tried",
		"--for roi_power --sut local --tg local":              "needs a power source that is read beside the runs",
		"--for cpu " + touch:                                  "touch differs between its cells",
		"--for cpu " + file + " --resume --out " + dir + "/x": "has no search that could go on",
	} {
		status, _, stderr := zcbench(t, append([]string{"tune"}, strings.Fields(args)...)...)
		if status != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit status %d, want 2 and %q: %s", args, status, want, stderr)
		}
	}
}
