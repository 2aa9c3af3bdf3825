// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

const killed = `
name: killed
factors: {rx: [tcp, uring], tx: [tcp, sendfile], message: 1M}
duration: 150ms
pace: 2G
ramp_up: 30ms
ramp_down: 20ms
repetitions: 4
seed: 7
gates: {throughput_cv: off, cpu_cv: off, drift: off, foreign_cores: off, retrans_per_gb: off, drops_per_gb: off, replace: 0}
`

// interrupted plays one experiment in pieces.
type interrupted struct {
	t         *testing.T
	file, out string
	plan      []string // the counted runs in order
}

func newInterrupted(t *testing.T, repetitions int) *interrupted {
	needRoot(t)
	text := []byte(strings.Replace(killed, "repetitions: 4\n", fmt.Sprintf("repetitions: %d\n", repetitions), 1))
	spec, err := matrix.Parse("killed.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	x := &interrupted{t: t, file: filepath.Join(t.TempDir(), "killed.yaml"), out: filepath.Join(t.TempDir(), "out")}
	for _, r := range spec.Runs() {
		if !r.Warmup {
			x.plan = append(x.plan, slot(r.Cell, r.Rep))
		}
	}
	if err := os.WriteFile(x.file, text, 0o666); err != nil {
		t.Fatal(err)
	}
	return x
}

func slot(c plan.Cell, rep int) string { return fmt.Sprintf("%s #%d", c.ID, rep) }

// counted are the runs of the journal that count, in its order.
func (x *interrupted) counted() (runs []string, lines, failed int) {
	x.t.Helper()
	j := journal(x.t, x.out)
	for _, r := range j.Records {
		switch {
		case r.Verdict == results.Failed:
			failed++
		case !r.Warmup:
			runs = append(runs, slot(r.Cell, r.Rep))
		}
	}
	return runs, len(j.Records), failed
}

// mustBePrefix: what is there so far is the beginning of the plan.
func (x *interrupted) mustBePrefix() (n, lines, failed int) {
	x.t.Helper()
	runs, lines, failed := x.counted()
	if len(runs) > len(x.plan) {
		x.t.Fatalf("%d runs of %d", len(runs), len(x.plan))
	}
	if d := cmp.Diff(x.plan[:len(runs)], runs); d != "" {
		x.t.Fatalf("not the plan's order (-want +got):\n%s", d)
	}
	return len(runs), lines, failed
}

// mustBeOnce: no run is there twice, nor one that was not planned. One that failed
// is made again, out of order.
func (x *interrupted) mustBeOnce() (n, lines, failed int) {
	x.t.Helper()
	runs, lines, failed := x.counted()
	seen := map[string]bool{}
	for _, r := range runs {
		if seen[r] || !slices.Contains(x.plan, r) {
			x.t.Errorf("%s is there twice, or was not planned", r)
		}
		seen[r] = true
	}
	return len(runs), lines, failed
}

// start begins or goes on, and waits until n runs more are in the journal.
func (x *interrupted) start(n int, flags ...string) *built.Process {
	x.t.Helper()
	n += runLines(x.out)
	p := built.Start(x.t, "zcbench", append([]string{"matrix", x.file, "--out", x.out}, flags...)...)
	waitForRuns(x.t, x.out, n)
	return p
}

// stopInFlow stops an agent while a flow of it is under way, so that what is done to it hits a run:
// between two runs a lost agent spoils none. It reports whether there was such a flow, before the
// agent ended.
func stopInFlow(t *testing.T, agent int) (hit bool) {
	t.Helper()
	flows := func() bool {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", agent))
		return established.Match(b)
	}
	await.Until(t, fmt.Sprintf("a flow of agent %d", agent), func() bool {
		if !flows() && running(agent) {
			return false
		}
		syscall.Kill(agent, syscall.SIGSTOP) // then its flow stays as it is
		await.Until(t, "the agent's stop", func() bool { return stopped(agent) || !running(agent) })
		if hit = stopped(agent) && flows(); !hit {
			syscall.Kill(agent, syscall.SIGCONT)
		}
		return hit || !running(agent)
	})
	return hit
}

// stopped tells of a process that a signal has stopped all its threads.
func stopped(pid int) bool {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, task := range tasks {
		b, err := os.ReadFile(task)
		if _, state, _ := strings.Cut(string(b), ") "); err == nil && !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return len(tasks) > 0
}

// established is a connection in /proc/net/tcp, by its fourth column (net/ipv4/tcp_ipv4.c,
// get_tcp4_sock).
var established = regexp.MustCompile(`(?m)^ *\d+: \S+ \S+ 01 `)

// An experiment whose controller is killed, then one of whose agents is, and which
// is then interrupted, has in the end each run of the plan once.
func TestIntegrationMatrixKilled(t *testing.T) {
	for repetitions := 4; !matrixKilled(t, repetitions); repetitions *= 2 {
		if repetitions > 64 {
			t.Fatalf("all runs of %d repetitions were made before they could be hit", repetitions)
		}
		t.Logf("all runs of %d repetitions were made before they could be hit", repetitions)
	}
}

// matrixKilled reports whether it was in time: on a busy machine all runs may have been made before
// this process has the CPU again.
func matrixKilled(t *testing.T, repetitions int) (inTime bool) {
	x := newInterrupted(t, repetitions)
	before := whatIsThere(t)

	// kill -9 of the controller, after the warm-ups.
	p := x.start(7)
	agents := agentsOf(t, p)
	p.Process.Kill()
	p.Wait(await.Hang)
	mustEnd(t, agents)
	if after := whatIsThere(t); after != before {
		t.Errorf("left behind: %s, before %s", after, before)
	}
	n, _, failed := x.mustBePrefix()
	if n == len(x.plan) {
		return false
	}
	if n < 3 || failed != 0 || len(agents) != 2 {
		t.Fatalf("%d runs, %d failed, agents %v", n, failed, agents)
	}
	// As if it had hit the write of a line, and something else had damaged the file.
	path := filepath.Join(x.out, results.JournalFile)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := strings.LastIndex(strings.TrimSuffix(string(b), "\n"), "\n") + 1
	b = append(b, b[last:]...)        // a line twice
	b = append(b, b[last:last+40]...) // and half a line
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}

	// kill -9 of an agent: that run failed, and the session goes on with another one.
	p = x.start(1, "--resume")
	p2 := agentsOf(t, p)
	if len(p2) == 0 && n+1 < len(x.plan) && running(p.Process.Pid) {
		t.Fatal("no agents")
	}
	if len(p2) != 2 || !stopInFlow(t, p2[0]) {
		p2 = append(p2, agentsOf(t, p)...)
		p.Process.Kill()
		p.Wait(await.Hang)
		mustEnd(t, p2)
		return false
	}
	_, lines, _ := x.counted()
	if err := syscall.Kill(p2[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "three runs more", func() bool { return runLines(x.out) >= lines+3 || !running(p.Process.Pid) })

	// Ctrl-C: the run under way is finished and kept.
	p.Process.Signal(syscall.SIGINT)
	_, lines, failedBefore := x.counted()
	got := p.Wait(await.Hang)
	mustEnd(t, p2)
	if made, _, _ := x.mustBeOnce(); made == len(x.plan) {
		return false // there was nothing to interrupt
	}
	if got != 1 {
		t.Errorf("exit status %d: %s", got, &p.Err)
	}
	for _, want := range []string{"incomplete (40 bytes) and was cut off", "duplicate run_id",
		fmt.Sprintf("%d of %d runs are in the journal", n, len(x.plan)+4),
		"stopping after the current run; interrupt again to stop at once", "to continue: zcbench matrix " + x.file} {
		if !strings.Contains(p.Err.String(), want) {
			t.Errorf("no %q in %s", want, &p.Err)
		}
	}
	m, after, failed := x.mustBeOnce()
	if m < n || after < lines || after > lines+2 || failed != failedBefore || failed != 1 {
		t.Errorf("%d runs, before %d; %d lines at Ctrl-C, %d after it; %d failed, before %d", m, n, lines, after,
			failed, failedBefore)
	}
	if _, err := os.Stat(filepath.Join(x.out, results.ReportFile)); err != nil {
		t.Error(err)
	}

	// The run that failed was made again: it does not count. A run whose window was
	// not kept, because the machine is busy, does.
	p = built.Start(t, "zcbench", "matrix", x.file, "--out", x.out, "--resume")
	got, want := p.Wait(await.Hang), 0
	for _, r := range journal(t, x.out).Records {
		if r.Verdict == results.Invalid && !r.Warmup {
			want = 1
			t.Logf("%s: %s", r.Cell.ID, r.Reason)
		}
	}
	if got != want {
		t.Errorf("exit status %d, want %d: %s", got, want, &p.Err)
	}
	if n, _, _ := x.mustBeOnce(); n != len(x.plan) {
		t.Errorf("%d of %d runs", n, len(x.plan))
	}
	// The damage stays told; the failed run is not in the numbers.
	if !strings.Contains(p.Out.String(), "duplicate run_id") {
		t.Errorf("the line that is there twice is not told:\n%s", &p.Out)
	}
	return true
}
