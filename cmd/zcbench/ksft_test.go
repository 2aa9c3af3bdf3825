// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/cmd/internal/ktap"
	"github.com/zcbench/zcbench/cmd/internal/ktap/ktaptest"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/plantest"
)

// netVariables are those of the kernel's selftests, for two named namespaces.
func netVariables(pair *veth.Pair, tg string) []string {
	return []string{"NETIF=" + pair.SUT.Dev, "LOCAL_V4=" + pair.SUT.IPv4.String(), "REMOTE_V4=" + pair.TG.IPv4.String(),
		"REMOTE_TYPE=netns", "REMOTE_ARGS=" + tg}
}

// called is a call of ksft within this process: what it prints, and its exit status.
func called(t *testing.T, args ...string) (out string, status int) {
	t.Helper()
	cmd := ksftCommand()
	var stdout strings.Builder
	cmd.SetOut(&stdout)
	cmd.SetErr(&stdout)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		status = cli.Usage // as package cli has it of what a command did not say itself
		if s := (*cli.StatusError)(nil); errors.As(err, &s) {
			status = s.Status
		}
	}
	return stdout.String(), status
}

// Where nothing can be run each mode has a line all the same, and the exit status is never 2,
// which would be an expected failure.
func TestKsftNothingToRun(t *testing.T) {
	for _, n := range []string{"NETIF", "LOCAL_V4", "LOCAL_V6", "REMOTE_V4", "REMOTE_V6", "REMOTE_TYPE", "REMOTE_ARGS",
		"kselftest_timeout"} {
		t.Setenv(n, "")
	}
	all := func(word string, args ...string) {
		t.Helper()
		out, status := called(t, append(args, "--dir", t.TempDir())...)
		subtests, err := ktaptest.Parse(out)
		if err != nil || len(subtests) != len(ksftModes()) ||
			slices.ContainsFunc(subtests, func(s ktaptest.Subtest) bool { return s.Status() != word }) {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
		if want := map[string]int{"SKIP": ktap.ExitSkip, "not ok": ktap.ExitFail}[word]; status != want {
			t.Errorf("%q: exit status %d, want %d", args, status, want)
		}
	}
	all("SKIP")
	t.Setenv("NETIF", "eth-none")
	all("not ok")
	for n, v := range map[string]string{"LOCAL_V4": "192.0.2.1", "REMOTE_V4": "192.0.2.2", "REMOTE_TYPE": "netns",
		"REMOTE_ARGS": "zcbench-none"} {
		t.Setenv(n, v)
	}
	word := "SKIP" // needs root
	if os.Geteuid() == 0 {
		word = "not ok" // there is no such namespace
	}
	all(word, "--ipv4=true", "--timeout", "1h", "--netns", "zcbench-none-either")
	for _, args := range [][]string{{"--modes", "zcxr"}, {"--modes", "tcp/udp"}, {"--min-runs", "0"},
		{"--timeout", "-1s"}, {"--no-such-flag"}, {"word"}, {"--rx-buf-len", "3"},
		{"--modes", "tcp", "--rx-buf-len", "32K"}, {"--veth", "--netns", "x"}, {"--gate", "copied=much"}} {
		if out, status := called(t, append(args, "--dir", t.TempDir())...); status != ktap.ExitFail ||
			strings.Contains(out, "KTAP") {
			t.Errorf("%q: exit status %d: %s", args, status, out)
		}
	}
}

// A folder that has results is refused before anything else, with one sentence on what to do.
func TestKsftOut(t *testing.T) {
	dir := folder(t, "full", plantest.Journal(1, 1, made("tcp", 20)))
	var stderr strings.Builder
	cmd := ksftCommand()
	cmd.SetArgs([]string{"--veth", "--out", dir})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetErr(&stderr)
	err := cmd.ExecuteContext(t.Context())
	if s := (*cli.StatusError)(nil); !errors.As(err, &s) || s.Status != ktap.ExitFail ||
		strings.Count(err.Error(), "choose another folder") != 1 {
		t.Errorf("%v\n%s", err, &stderr)
	}
}

func TestKsftPairs(t *testing.T) {
	for word, want := range map[string]string{"zcrx": "zcrx/tcp", "sendfile": "tcp/sendfile", "uring": "uring/tcp",
		"zcrx/devmem": "zcrx/devmem", "udp": "udp/udp",
		"xdp-drop": "xdp-drop/pktgen-xdp", "rr": "tcp/rr", "tcp/udp": "", "": "", "tcp/": "", "/tcp": "",
		"tcp/tcp/tcp": "", "zcxr": ""} {
		got := ""
		if rx, tx, err := pairOf(word); err == nil {
			got = rx.Name + "/" + tx.Name
		}
		if got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	all := ksftModes()
	for _, m := range modes.All {
		if m.Kind == stream.Stream && !m.Has(stream.RoundTrips) &&
			!slices.ContainsFunc(all, func(p string) bool { return strings.Contains("/"+p+"/", "/"+m.Name+"/") }) {
			t.Errorf("%s is in none of %q", m.Name, all)
		}
	}
}

// What becomes of the runs of a mode.
func TestKsftStatuses(t *testing.T) {
	ok, hurt := results.Record{Verdict: results.OK}, results.Record{Verdict: results.Invalid, Reason: "busy",
		Gate: plan.ByEnvironment}
	is := func(v results.Verdict, reason string) results.Record {
		return results.Record{Verdict: v, Reason: reason, Fix: "mend it"}
	}
	copied := results.Record{Verdict: results.Invalid, Reason: "copied", Expected: true}
	for _, x := range []struct {
		runs []results.Record
		want string
	}{
		{[]results.Record{ok, ok}, "ok: "},
		{[]results.Record{ok}, "SKIP: no time: 1 of 2 runs could be made within 1m0s"},
		{nil, "SKIP: no time: 0 of 2 runs could be made within 1m0s"},
		{[]results.Record{ok, is(results.Failed, "lost")}, "not ok: "},
		{[]results.Record{is(results.Invalid, "wrong bytes")}, "not ok: "},
		{[]results.Record{is(results.Unsupported, "no ring")}, "SKIP: no ring"},
		{[]results.Record{copied}, "XFAIL: copied"},
		{[]results.Record{ok, hurt}, "SKIP: other work on the hosts disturbed it: busy"},
		{[]results.Record{is(results.Failed, "lost"), ok, ok}, "not ok: "}, // not healed by what comes after
	} {
		var b strings.Builder
		c := &ksftCourse{t: ktap.New(&b, 1), ctx: t.Context(), modes: []*ksftMode{{name: "m"}}, want: 2,
			limit: time.Minute}
		for _, r := range x.runs {
			r.Cell.ID = "m"
			c.Done(r)
		}
		c.outOfTime()
		c.t.End()
		all, err := ktaptest.Parse(b.String())
		if err != nil || all[0].Status()+": "+all[0].Reason != x.want {
			t.Errorf("%v: want %s:\n%s", err, x.want, &b)
		}
		if n := len(x.runs); n > 0 && all[0].Status() == "not ok" && !slices.ContainsFunc(all[0].Notes,
			func(s string) bool { return s == "m: fix: mend it" }) {
			t.Errorf("no fix: %q", all[0].Notes)
		}
	}
}

// packageBegan is soon after the start of the tests' process.
var packageBegan = time.Now()

func TestProcessStart(t *testing.T) {
	// It reads two clocks, between which a busy machine may keep it waiting: such an answer is
	// early.
	var began, again time.Time
	if !await.So(func() bool {
		began = processStart()
		await.Pause("the start stays where it is", 50*time.Millisecond)
		again = processStart()
		return again.Sub(began).Abs() <= 20*time.Millisecond
	}) {
		t.Errorf("%v, then %v", began, again)
	}
	if before := packageBegan.Sub(began); before < 0 || before > await.Hang {
		t.Errorf("%v, and package variables were set %v later", began, before)
	}
}

// A run that was under way when the time was up is no failure, nor is one that somebody called off.
func TestKsftCalledOff(t *testing.T) { synctest.Test(t, ksftCalledOff) }

func ksftCalledOff(t *testing.T) {
	for cause, want := range map[error]string{
		bench.ErrTime:    "no time: its run of 2.0 s was not over after 60.0 s, when the time of 1m30s was up",
		context.Canceled: "no time: 0 of 1 run could be made within 1m30s"} {
		ctx, stop := context.WithCancelCause(t.Context())
		stop(cause)
		var b strings.Builder
		c := &ksftCourse{t: ktap.New(&b, 1), ctx: ctx, modes: []*ksftMode{{name: "m"}}, want: 1,
			limit: 90 * time.Second, length: 2 * time.Second,
			begun: time.Now().Add(-time.Minute)}
		c.Done(results.Record{Cell: plan.Cell{ID: "m"}, Verdict: results.Failed, Reason: "called off"})
		c.outOfTime()
		c.t.End()
		if all, err := ktaptest.Parse(b.String()); err != nil || all[0].Status() != "SKIP" || all[0].Reason != want {
			t.Errorf("%v: %v\n%s", cause, err, &b)
		}
	}
}

// All modes between two namespaces that are there, by a file net.config as the kernel's tests have
// it, read by a strict parser, and by the kernel's own.
func TestIntegrationKsft(t *testing.T) {
	pair, sut, tg := named(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "net.config"), []byte(strings.Join(netVariables(pair, tg), "\n")+"\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	before := both(t, pair)
	var p *built.Process
	var status int
	var all []ktaptest.Subtest
	longer(t, 250*time.Millisecond, func(d string) (lacking string) {
		p = built.Start(t, "zcbench", "ksft", "--dir", dir, "--netns", sut, "--duration", d, "--timeout", "10m",
			"--message-size", "1M")
		status = p.Wait(11 * time.Minute)
		var err error
		if all, err = ktaptest.Parse(p.Out.String()); err != nil {
			t.Fatalf("exit status %d, %v\n%s%s", status, err, &p.Out, &p.Err)
		}
		if strings.Contains(p.Out.String(), "no payload was transferred in the window") {
			return "a mode had no CPU\n" + p.Out.String()
		}
		return ""
	})
	var names []string
	worst, disturbed := map[string]int{}, 0
	for _, s := range all {
		names = append(names, s.Name)
		worst[s.Status()]++
		if strings.HasPrefix(s.Reason, "other work on the hosts disturbed it: ") {
			disturbed++
		}
		allowed := []string{"ok", "SKIP"} // what this kernel lacks, and what others disturb
		switch s.Name {
		case "tcp-mmap/tcp", "tcp/msg-zerocopy", "tcp/uring-zc":
			allowed = []string{"XFAIL", "SKIP"} // veth copies
		case "zcrx/tcp", "devmem/tcp", "tcp/devmem":
			allowed = []string{"SKIP"} // veth has no queues for them
		}
		if !slices.Contains(allowed, s.Status()) {
			t.Errorf("%s is %s (%s), want one of %q", s.Name, s.Status(), s.Reason, allowed)
		}
	}
	// Others had the CPUs all the time: then all may be skipped. That a mode is ok where nobody has
	// them is for TestIntegrationKsftTime.
	busy := worst["ok"] == 0 && disturbed > 0
	if d := cmp.Diff(ksftModes(), names); d != "" || status != ktap.ExitPass &&
		!(busy && status == ktap.ExitSkip) || worst["ok"] == 0 && !busy {
		t.Errorf("exit status %d\n%s%s", status, d, &p.Out)
	}
	if d := cmp.Diff(before, both(t, pair)); d != "" {
		t.Error(d)
	}
	kernelsParser(t, p.Out.String(), all)
}

// What a signal ends is restored, and each mode has its line, unless nobody could write it.
func TestIntegrationKsftStopped(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			if signal == syscall.SIGKILL {
				long.Test(t)
			}
			ksftStopped(t, signal)
		})
	}
}

func ksftStopped(t *testing.T, signal syscall.Signal) {
	pair, sut, tg := named(t)
	before := both(t, pair)
	cmd := exec.Command(filepath.Join(built.Dir(t), "zcbench"), "ksft", "--netns", sut, "--duration", "4m", "--timeout",
		"20m", "--modes", "tcp,uring", "--mtu", "2000")
	cmd.Env = append(os.Environ(), netVariables(pair, tg)...)
	p := built.StartCommand(t, cmd)
	await.Until(t, "what it sets", func() bool { return linkOf(t, pair.SUT)["mtu"] == "2000" })
	p.Signal(signal)
	status := p.Wait(await.Hang)
	await.So(func() bool { return cmp.Equal(before, both(t, pair)) })
	if d := cmp.Diff(before, both(t, pair)); d != "" {
		t.Errorf("%v: %s", signal, d)
	}
	if signal == syscall.SIGKILL {
		return
	}
	all, err := ktaptest.Parse(p.Out.String())
	if err != nil || status != ktap.ExitFail || len(all) != 2 || !strings.HasPrefix(all[0].Reason,
		"stopped before it was done: ") || all[1].Status() != "SKIP" {
		t.Errorf("exit status %d, %v\n%s%s", status, err, &p.Out, &p.Err)
	}
}

// A runner that allows little time gets a line for each mode within it, and what there is time for
// is ok.
func TestIntegrationKsftTime(t *testing.T) {
	kind.Timed(t)
	pair, sut, tg := named(t)
	cmd := exec.Command(filepath.Join(built.Dir(t), "zcbench"), "ksft", "--netns", sut, "--duration", "2s", "--modes",
		"zcrx,tcp,uring,tcp/sendfile,tcp/uring")
	cmd.Env = append(append(os.Environ(), netVariables(pair, tg)...), "kselftest_timeout=6")
	begun := time.Now()
	p := built.StartCommand(t, cmd)
	status := p.Wait(await.Hang)
	took := time.Since(begun)
	all, err := ktaptest.Parse(p.Out.String())
	if err != nil || len(all) != 5 || took > 8*time.Second {
		t.Fatalf("%v, exit status %d, %v\n%s%s", took, status, err, &p.Out, &p.Err)
	}
	// All the time goes to tcp, if that does not leave some.
	if s := all[1]; status != ktap.ExitPass || s.Status() != "ok" {
		t.Errorf("exit status %d, %s: %s %s", status, s.Name, s.Status(), s.Reason)
	}
	if s := all[0]; s.Status() != "SKIP" || strings.HasPrefix(s.Reason, "no time") {
		t.Errorf("zcrx over veth: %s %s", s.Status(), s.Reason)
	}
	if s := all[4]; s.Status() != "SKIP" || !strings.HasPrefix(s.Reason, "no time: 0 of 1 run ") {
		t.Errorf("the last: %s %s", s.Status(), s.Reason)
	}
}
