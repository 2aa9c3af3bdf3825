// SPDX-License-Identifier: MIT

package starved

import (
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"golang.org/x/sys/unix"
)

// loop starts a process that computes until the test ends, on one CPU alone: the first of those
// that this process may use.
func loop(t *testing.T) (pid int) {
	t.Helper()
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		t.Fatal(err)
	}
	cpu := 0
	for !may.IsSet(cpu) {
		cpu++
	}
	cmd := exec.Command("taskset", "-c", strconv.Itoa(cpu), "sh", "-c", "while :; do :; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// A process that shares its CPU with another of others' is starved; one that only shares it with
// its own is not.
func TestStarved(t *testing.T) {
	watched := loop(t)
	loop(t)
	await.Until(t, "a process beside a busy loop is starved", func() bool {
		w := Watch(watched)
		await.Pause("both run", time.Second)
		l, err := w.Load()
		if err != nil {
			t.Fatal(err)
		}
		return l.Starved()
	})
}

func TestLimits(t *testing.T) {
	for _, x := range []struct {
		Load
		want bool
	}{
		{Load{Waited: 2}, false},
		{Load{Others: 2, Idle: 1}, false},
		{Load{Others: 2}, true}, // whose threads have ended
		{Load{Others: 0.3, Waited: 0.1, Idle: 1}, true},
		{Load{Stolen: 0.03 * float64(runtime.NumCPU()), Idle: 1}, true},
		{Load{Others: 0.1, Waited: 0.04, Stolen: 0.02 * float64(runtime.NumCPU())}, false},
	} {
		if got := x.Starved(); got != x.want {
			t.Errorf("%v: starved %v", x.Load, got)
		}
		if x.Starved() && x.Quiet() {
			t.Errorf("%v: starved, and nothing else ran", x.Load)
		}
	}
	if l := (Load{Others: 1.9, Idle: 0.1}); l.Quiet() {
		t.Errorf("%v: nothing else ran", l)
	}
}

// This process is not one of others, and neither are those that it starts.
func TestOursAreNoOthers(t *testing.T) {
	w := Watch(Self)
	loop(t)
	loop(t)
	await.Until(t, "this process waits", func() bool {
		l, err := w.Load()
		if err != nil {
			t.Fatal(err)
		}
		return l.Waited > 0.1
	})
}
