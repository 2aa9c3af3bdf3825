// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
)

// ZCBENCH_AGENT_DIR is a folder of the user's: what lies there stays, and what lies
// in ours stays where a command only looks.
func TestIntegrationSSHAgentDir(t *testing.T) {
	long.Test(t)
	h := newTwoHosts(t)
	dir := t.TempDir()
	t.Setenv("ZCBENCH_AGENT_DIR", dir)
	program := filepath.Join("zcbench-agent", strings.Repeat("a1", 32))
	names := []string{"backup", "containerd", "data", "amazon", "deadbeef", strings.Repeat("b2", 32), program}
	for _, n := range names {
		p := filepath.Join(dir, n)
		if err := os.MkdirAll(p, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p, "zcbench"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		long := time.Now().Add(-(90 * 24 * time.Hour))
		if err := os.Chtimes(p, long, long); err != nil {
			t.Fatal(err)
		}
	}
	left := func(after string, without ...string) {
		t.Helper()
		for _, n := range names {
			_, err := os.Stat(filepath.Join(dir, n, "zcbench"))
			if gone := strings.Contains(strings.Join(without, " "), n); (err != nil) != gone {
				t.Errorf("after %s: %s: %v", after, n, err)
			}
		}
	}
	copied := func() []string {
		all, _ := filepath.Glob(dir + "/zcbench-agent/*/zcbench")
		for i, p := range all {
			if strings.Contains(p, program) {
				return append(all[:i:i], all[i+1:]...)
			}
		}
		return all
	}
	forget := func() {
		for _, p := range copied() {
			os.Remove(p)
		}
	}
	experiment := filepath.Join(t.TempDir(), "e.yaml")
	text := "name: look\nsut: {host: " + h.sut + "}\ntg: {host: " + h.tg +
		"}\nduration: 200ms\nrepetitions: 1\nfactors: {rx: [tcp], tx: [tcp]}\n"
	if err := os.WriteFile(experiment, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"restore", "--host", h.sut, "--dry-run"}, {"doctor", "--host", h.sut},
		{"matrix", experiment, "--dry-run"}} {
		p := h.start(t, args...)
		if got := p.Wait(await.Hang); got != 0 && args[0] != "doctor" {
			t.Errorf("%v: exit status %d\n%s%s", args, got, &p.Out, &p.Err)
		}
		if len(copied()) != 1 {
			t.Errorf("%v copied %v: the test proves nothing\n%s%s", args, copied(), &p.Out, &p.Err)
		}
		left(strings.Join(args, " "))
		forget()
	}
	p := h.start(t, "run", "--sut", h.sut, "--tg", h.tg, "--duration", "200ms")
	p.Wait(await.Hang)
	left("a run", program)
}

// A folder in which ours cannot be is wrong usage, and no host is asked.
func TestAgentDirRefused(t *testing.T) {
	t.Setenv("ZCBENCH_SSH", "false") // if it were asked all the same
	for _, bad := range []string{"/", "/..", "/opt/../x", "opt", "/$HOME"} {
		t.Setenv("ZCBENCH_AGENT_DIR", bad)
		p := built.Start(t, "zcbench", "restore", "--host", "ssh:nowhere", "--dry-run")
		if got := p.Wait(await.Hang); got != 2 || !strings.Contains(p.Err.String(), "ZCBENCH_AGENT_DIR") {
			t.Errorf("ZCBENCH_AGENT_DIR=%s: exit status %d\n%s%s", bad, got, &p.Out, &p.Err)
		}
	}
}
