// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// A run beside a busy loop on its measured CPU is invalid for its environment, each time that
// it is made, and the command ends with 1. Who does not look is told all the same.
func TestIntegrationForeignLoad(t *testing.T) {
	kind.Timed(t)
	_, sut, tg := named(t)
	const cpu = 0
	loop := built.StartCommand(t, exec.Command("/bin/sh", "-c", "while :; do :; done"))
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(loop.Process.Pid, &set); err != nil {
		t.Fatal(err)
	}
	run := func(gates ...string) (recs []results.Record, status int) {
		args := []string{"run", "--sut", "netns:" + sut, "--tg", "netns:" + tg, "--json", "--sut-cpu", fmt.Sprint(cpu),
			"--duration", "700ms", "--ramp-up", "200ms", "--pace", "500M", "--message-size", "128K"}
		p := built.Start(t, "zcbench", append(args, gates...)...)
		status = p.Wait(await.Hang)
		for line := range strings.Lines(p.Out.String()) {
			var r results.Record
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			recs = append(recs, r)
		}
		return recs, status
	}
	recs, status := run("--gate", "replace=1")
	if len(recs) != 2 || status != 1 {
		t.Errorf("%d records, exit status %d", len(recs), status)
	}
	for _, r := range recs {
		seen := strings.Contains(r.Reason, "SUT: foreign load 0.") &&
			strings.Contains(r.Reason, "on CPU 0 (limit 0.05)")
		if r.Verdict != results.Invalid || r.Gate != plan.ByEnvironment || !seen &&
			!heldUp(r.Reason, strings.Join(r.Warnings, " ")) || r.Fix == "" {
			t.Errorf("%s by %s: %s", r.Verdict, r.Gate, r.Reason)
		}
	}
	for _, r := range first(run("--gate", "foreign_cores=off", "--gate", "replace=0")) {
		if !strings.Contains(strings.Join(r.Warnings, "; "), "foreign load 0.") ||
			strings.Contains(r.Reason, "foreign load") {
			t.Errorf("%s: %s; warnings %q", r.Verdict, r.Reason, r.Warnings)
		}
	}
}

func first[T any](v T, _ int) T { return v }
