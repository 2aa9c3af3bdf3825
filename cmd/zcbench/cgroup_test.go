// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/machine/cgroup/cgrouptest"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// A run whose ends have a third of a CPU is invalid for its environment, and names the limit, its
// cgroup and how often it throttled; where such runs are let count, that is what limited them.
func TestIntegrationCgroupLimit(t *testing.T) {
	kind.Timed(t)
	group := cgrouptest.New(t, "cpu")
	group.LimitCPU(7000, 20000)
	_, sut, tg := named(t)
	run := func(gates ...string) (r results.Record, status int) {
		args := []string{"run", "--sut", "netns:" + sut, "--tg", "netns:" + tg, "--json", "--duration", "1s",
			"--ramp-up", "300ms", "--message-size", "128K"}
		p := built.StartCommand(t, group.Command(built.Dir(t)+"/zcbench", append(append(args, built.Busy...),
			gates...)...))
		status = p.Wait(await.Hang)
		if err := json.Unmarshal(p.Out.Bytes(), &r); err != nil {
			t.Fatalf("%v: %s%s", err, p.Out.String(), p.Err.String())
		}
		return r, status
	}
	r, status := run("--gate", "throttled=0.001")
	named := "cgroup " + group.Name + ": cpu.max 7000 20000"
	if status != 1 || r.Verdict != results.Invalid || r.Gate != plan.ByEnvironment ||
		!strings.Contains(r.Reason, named) || !strings.Contains(r.Reason, " throttled it in ") ||
		!strings.Contains(r.Fix, "gates.throttled: off") {
		t.Errorf("status %d: %s by %s: %s (fix: %s)", status, r.Verdict, r.Gate, r.Reason, r.Fix)
	}
	for _, role := range ends.Roles {
		if share, words := judge.HeldBack(r.Host(role)); share <= 0 || share > 1 || !strings.HasPrefix(words, named) {
			t.Errorf("%s: held back for %v: %q", role.Label(), share, words)
		}
	}
	if r, _ := run("--gate", "throttled=off"); r.Verdict == results.OK && r.Limit != plan.ByCgroup {
		t.Errorf("limited by %q, want the cgroup: %q", r.Limit, r.Warnings)
	}
	// The doctor says so before a run does.
	p := built.StartCommand(t, group.Command(built.Dir(t)+"/zcbench", "doctor"))
	if status := p.Wait(await.Hang); status != 0 || !strings.Contains(p.Out.String(), named) {
		t.Errorf("doctor: status %d, %s%s", status, p.Out.String(), p.Err.String())
	}
}
