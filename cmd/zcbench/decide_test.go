// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/results"
)

// cellsIn lists the cells of a folder's plan.
func cellsIn(t *testing.T, out string) (ids []string) {
	t.Helper()
	for _, c := range journal(t, out).Header.Cells {
		ids = append(ids, c.ID)
	}
	return ids
}

// mustTakeTurns holds that all that can run took turns, in so many starts of all, and that only
// what else this machine does kept runs from counting.
func mustTakeTurns(t *testing.T, out string, starts int) {
	t.Helper()
	last := 0
	for _, r := range journal(t, out).Records {
		copied := r.Cell.RX == "tcp-mmap" || r.Cell.TX == "msg-zerocopy" || r.Cell.TX == "uring-zc"
		switch {
		case r.Verdict == results.Failed && !strings.Contains(r.Reason, "unknown base rate"):
			t.Errorf("%s: %s", r.Cell.ID, r.Reason)
		case r.Verdict == results.Unsupported, r.Verdict == results.Failed:
		case copied && (r.Turns != nil || r.Warmup || r.Rep > 0):
			t.Errorf("%s, which is copied: turns %v, repetition %d", r.Cell.ID, r.Turns, r.Rep)
		case !copied && r.Turns == nil:
			t.Errorf("%s took no turns", r.Cell.ID)
		case !copied && !r.Warmup:
			if last = max(last, r.Start); r.Start != r.Rep+1 {
				t.Errorf("%s: start %d, repetition %d", r.Cell.ID, r.Start, r.Rep)
			}
		}
	}
	if last != starts {
		t.Errorf("%d starts, want %d", last, starts)
	}
}

// A demo asks which receive mode to use, and which send mode, in turns.
func TestIntegrationDemoInTurns(t *testing.T) {
	needRoot(t)
	before, out := whatIsThere(t), filepath.Join(t.TempDir(), "out")
	p := built.Start(t, "zcbench", "demo", "--out", out, "--repetitions", "2", "--duration", "120ms", "--gate",
		"foreign_cores=off")
	status := p.Wait(await.Hang)
	if e := p.Err.String(); status > 1 || !strings.Contains(e, "which take turns") {
		t.Errorf("exit status %d: %s", status, e)
	}
	ids := cellsIn(t, out)
	for _, want := range []string{"tcp/sendfile", "tcp/sendfile pace=50%", "tcp-trunc/sendfile", "tcp-trunc/tcp"} {
		if !slices.Contains(ids, want) {
			t.Errorf("no cell %s in %q", want, ids)
		}
	}
	mustTakeTurns(t, out, 2)
	for _, name := range []string{results.RunsFile, results.MetricsFile, results.SamplesFile, results.ReportFile} {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
	if after := whatIsThere(t); after != before {
		t.Errorf("left behind: %s, before %s", after, before)
	}
	// It can be made again, as it was.
	p = built.Start(t, "zcbench", "rerun", "--dry-run", out)
	if got := p.Wait(await.Hang); got != 0 || !strings.Contains(p.Out.String(), "take turns of 20ms") {
		t.Errorf("rerun: exit status %d: %s%s", got, &p.Err, &p.Out)
	}
}

// Cells with probes take turns as others do, and each record has what its own turns had.
func TestIntegrationDemoProbesInTurns(t *testing.T) {
	kind.Timed(t) // what other tests take of the CPUs can spoil the calibration
	needRoot(t)
	out := filepath.Join(t.TempDir(), "out")
	p := built.Start(t, "zcbench", "demo", "--out", out, "--rx", "tcp,uring", "--repetitions", "1",
		"--duration", "160ms", "--probe", "latency,syscalls,profile")
	p.Wait(await.Hang)
	if e := strings.Join(strings.Fields(p.Err.String()), " "); !strings.Contains(e, "which take turns") {
		t.Error(e)
	}
	seen := 0
	for _, r := range journal(t, out).Records {
		if r.Turns == nil || r.Verdict == results.Failed {
			t.Errorf("%s: %s, turns %v: %s", r.Cell.ID, r.Verdict, r.Turns, r.Reason)
		}
		if r.SUT.Probes == nil { // no turn counted
			continue
		}
		for _, c := range r.SUT.Probes.Calls {
			if c.Name == "io_uring_enter" {
				seen++
			}
			if (c.Name == "io_uring_enter") && r.Cell.RX != "uring" || c.Name == "recvfrom" && r.Cell.RX == "uring" {
				t.Errorf("%s: %v of %s", r.Cell.ID, *c.Calls, c.Name)
			}
		}
	}
	if seen == 0 {
		t.Error("no record has system calls of io_uring")
	}
}

// What cannot take turns is run all the same, and a line says why.
func TestIntegrationDemoInBlocks(t *testing.T) {
	needRoot(t)
	out := filepath.Join(t.TempDir(), "out")
	p := built.Start(t, "zcbench", "demo", "--out", out, "--rx", "tcp,uring", "--tx", "tcp", "--repetitions", "1",
		"--duration", "100ms", "--busy-poll", "50us")
	p.Wait(await.Hang)
	if e := strings.Join(strings.Fields(p.Err.String()), " "); !strings.Contains(e,
		"do not take turns: cell tcp/tcp: busy_poll cannot be measured in turns") {
		t.Error(e)
	}
	for _, r := range journal(t, out).Records {
		if r.Turns != nil || r.Start != 0 || r.Verdict == results.Failed {
			t.Errorf("%s: %s, turns %v", r.Cell.ID, r.Verdict, r.Turns)
		}
	}
}

// decide does so between any two hosts: its dry run says what it would do and leaves nothing, and
// where flows have no room, one cell says so.
func TestIntegrationDecide(t *testing.T) {
	_, sut, tg := named(t)
	out := filepath.Join(t.TempDir(), "out")
	args := []string{"decide", "--sut", "netns:" + sut, "--tg", "netns:" + tg, "--rx", "uring", "--out", out}
	p := built.Start(t, "zcbench", append(args, "--dry-run", "--flows", "1,1000")...)
	if got := p.Wait(await.Hang); got != 0 || strings.Count(p.Out.String(), "flows=1000") != 1 ||
		!strings.Contains(p.Out.String(), "8 cells: a start takes") {
		t.Errorf("dry run: exit status %d: %s%s", got, &p.Err, &p.Out)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a dry run wrote results")
	}
	p = built.Start(t, "zcbench", append(args, "--flows", "1", "--repetitions", "2", "--duration", "120ms", "--turn",
		"20ms", "--json", "--gate", "foreign_cores=off")...)
	if got := p.Wait(await.Hang); got > 1 || !strings.HasPrefix(p.Out.String(), "{") {
		t.Errorf("exit status %d: %s%s", got, &p.Err, &p.Out)
	}
	want := "tcp/sendfile|tcp/sendfile pace=25%|tcp/sendfile pace=50%|tcp/sendfile pace=75%|uring/sendfile|" +
		"uring/sendfile pace=25%|uring/sendfile pace=50%|uring/sendfile pace=75%"
	if got := strings.Join(cellsIn(t, out), "|"); got != want {
		t.Errorf("cells %s, want %s", got, want)
	}
	mustTakeTurns(t, out, 2)
}

// On a path that is slow, decide ends with what was learnt.
func TestIntegrationDecideOnSlowPath(t *testing.T) {
	kind.Timed(t)
	pair, sut, tg := named(t)
	out := filepath.Join(t.TempDir(), "out")
	tc := exec.Command("ip", "netns", "exec", tg, "tc", "qdisc", "add", "dev", pair.TG.Dev, "root", "tbf", "rate",
		"2gbit", "burst", "256kb", "latency", "2ms")
	if b, err := tc.CombinedOutput(); err != nil && strings.Contains(string(b), "qdisc kind is unknown") {
		t.Skipf("this kernel has no token bucket filter (sch_tbf): %s", b)
	} else if err != nil {
		t.Fatalf("tc: %v: %s", err, b)
	}
	p := built.Start(t, "zcbench", "decide", "--sut", "netns:"+sut, "--tg", "netns:"+tg, "--rx", "uring", "--flows",
		"1", "--repetitions", "6", "--duration", "240ms", "--turn", "20ms", "--out", out)
	if got := p.Wait(await.Hang); got != 0 {
		t.Errorf("exit status %d: %s%s", got, &p.Err, &p.Out)
	}
}

// Numbers of flows are told by one flag, and pairs of modes have one.
func TestDecideFlags(t *testing.T) {
	for args, want := range map[string]string{
		"":                                    "--sut and --tg are required",
		"--sut local --tg local --flows 0":    "--flows 0: want different numbers in 1..",
		"--sut local --tg local --flows 2,2":  "--flows 2: want different numbers in 1..",
		"--sut nowhere: --tg local --flows 2": "nowhere",
	} {
		status, _, stderr := zcbench(t, append([]string{"decide"}, strings.Fields(args)...)...)
		if status != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit status %d: %s", args, status, stderr)
		}
	}
}

// A demo's turns are short also where they were asked for, and in blocks it fits its windows.
func TestDemoPlan(t *testing.T) {
	for args, want := range map[string]time.Duration{
		"": ownTurn, "--order turns": ownTurn, "--turn 30ms": 30 * time.Millisecond, "--order blocks": 0,
		"--order turns --turn 40ms": 40 * time.Millisecond,
	} {
		var f decideFlags
		cmd := &cobra.Command{Use: "demo"}
		f.define(cmd, 0, ownStarts, "out")
		if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		if s, _, err := f.plan(cmd, false); err != nil || s.TurnLength() != want {
			t.Errorf("%q: turns of %v, want %v: %v", args, s.TurnLength(), want, err)
		}
	}
	for _, x := range []struct {
		name, args string
		fits       bool
	}{
		{"demo", "", false}, {"demo", "--order blocks", true}, {"demo", "--rx tcp --tx tcp --order blocks", true},
		{"decide", "--order blocks", false},
	} {
		var f decideFlags
		cmd := &cobra.Command{Use: x.name}
		f.define(cmd, 0, ownStarts, "out")
		f.Spec.SUT.Host, f.Spec.TG.Host = "netns:a", "netns:b"
		if err := cmd.ParseFlags(strings.Fields(x.args)); err != nil {
			t.Fatal(err)
		}
		s, _, err := f.plan(cmd, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.policy(cmd); got.Fit != x.fits || !got.SplitHeaders {
			t.Errorf("%s %s: %+v of turns of %v", x.name, x.args, got.Shape, s.TurnLength())
		}
	}
}
