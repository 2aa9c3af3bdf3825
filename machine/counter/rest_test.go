// SPDX-License-Identifier: MIT

package counter

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What a CPU does at rest is told apart into what polls for a flow and what is the
// machine's own; where that cannot be told, it is not guessed.
func TestRestTellsPollersApart(t *testing.T) {
	one := func(busy float64) OneCPUUsage {
		return OneCPUUsage{CPU: 1, CPUFigures: CPUFigures{BusyCores: &busy, UncertaintyCores: .01}}
	}
	anywhere, pinned := ThreadDelta{CPU: -1, RunNs: 1.6e9}, ThreadDelta{CPU: 1, RunNs: 1.6e9}
	for name, x := range map[string]struct {
		use  pollerUse
		busy float64
		want *float64
	}{
		"on it":              {pollerUse{ThreadDelta: anywhere, OnNs: map[int]int64{1: 1.6e9}}, .9, ptr(.8)},
		"on another":         {pollerUse{ThreadDelta: anywhere, OnNs: map[int]int64{0: 1.6e9}}, .9, ptr(0.)},
		"kept to it":         {pollerUse{ThreadDelta: pinned}, .9, ptr(.8)},
		"more than was busy": {pollerUse{ThreadDelta: pinned}, .79, ptr(.79)},
		"anywhere":           {pollerUse{ThreadDelta: anywhere}, .9, nil},
		"anywhere, idle":     {pollerUse{ThreadDelta: ThreadDelta{CPU: -1, RunNs: 1e6}}, .9, ptr(0.)},
	} {
		got := polledOn([]pollerUse{x.use}, one(x.busy), 2)
		if (got == nil) != (x.want == nil) || got != nil && !near(*got, *x.want) {
			t.Errorf("%s: %v, want %v", name, got, x.want)
		}
	}
}

// A rest on a fixture's clock is what its idle column says, for each CPU.
func TestRestOfFixture(t *testing.T) {
	dir := t.TempDir()
	stat := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fs, err := NewFS(dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := BeginRest(fs, nil); err == nil {
		t.Error("a rest without /proc/stat")
	}
	stat("cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 100 0 0 0 0 0 0\ncpu1 0 0 0 100 0 0 0 0 0 0\nintr 0\n")
	r, err := BeginRest(fs, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.cpu.AtNs -= int64(time.Hour) // of which what this test takes is nothing
	stat("cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 180100 0 0 0 0 0 0\ncpu1 0 0 0 360100 0 0 0 0 0 0\nintr 0\n")
	wall, cpus, err := r.End(fs)
	if err != nil || len(cpus) != 2 || wall < 3599 {
		t.Fatalf("%v s: %+v, %v", wall, cpus, err)
	}
	for i, want := range []float64{.5, 0} {
		if c := cpus[i]; c.CPU != i || c.BusyCores < want || c.BusyCores > want+.01 || c.PollerCores == nil ||
			*c.PollerCores != 0 || c.UncertaintyCores <= 0 {
			t.Errorf("%+v, want %v busy", c, want)
		}
	}
}
