// SPDX-License-Identifier: MIT

package xdp

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// The thread of a map is found by its whole name: neither that of a map whose name is the beginning
// of ours, which may have a lower number, nor a program of that name.
func TestThreadNamed(t *testing.T) {
	proc := t.TempDir()
	put := func(pid int, comm, exe string) {
		t.Helper()
		dir := filepath.Join(proc, strconv.Itoa(pid))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "comm"), []byte(comm+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if exe == "" {
			return
		}
		if err := os.Symlink(exe, filepath.Join(dir, "exe")); err != nil {
			t.Fatal(err)
		}
	}
	const ours = "cpumap/1/map:1234"
	put(10, "cpumap/1/map:12", "") // 15 bytes, as many as a name of any other process has
	put(11, ours, "/usr/bin/cat")
	if pid, err := threadNamed(proc, ours); err == nil {
		t.Errorf("process %d is taken for it", pid)
	}
	put(12, ours, "")
	if pid, err := threadNamed(proc, ours); pid != 12 || err != nil {
		t.Errorf("%d, %v; want 12", pid, err)
	}
	if pid, err := threadNamed(proc, ours[:15]); pid != 10 || err != nil {
		t.Errorf("of the other map: %d, %v; want 10", pid, err)
	}
}

// The thread behind a rung of this machine's is found.
func TestIntegrationThreadOfCPUMap(t *testing.T) {
	if comm, _ := os.ReadFile("/proc/2/comm"); string(comm) != "kthreadd\n" {
		t.Skip("kernel threads are in another PID namespace")
	}
	r := newLadder(t).rung(Options{Action: toCPU, Touch: TouchRead})
	if pid, err := r.thread(); pid <= 0 || err != nil {
		t.Errorf("%d, %v", pid, err)
	}
}
