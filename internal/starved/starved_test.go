// SPDX-License-Identifier: MIT

package starved

import (
	"os/exec"
	"strconv"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
)

// loop starts a process that computes until the test ends, on CPU 0 alone.
func loop(t *testing.T) (pid int) {
	t.Helper()
	cmd := exec.Command("taskset", "-c", "0", "sh", "-c", "while :; do :; done")
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
	await.Until(t, "a process beside a busy loop is starved", func() bool {
		w := Watch(loop(t))
		loop(t)
		await.Pause("both run", 1e9)
		l, err := w.Load()
		if err != nil {
			t.Fatal(err)
		}
		t.Log(strconv.FormatBool(l.Starved()), l)
		return l.Starved()
	})
}

func TestLimits(t *testing.T) {
	for _, x := range []struct {
		Load
		want bool
	}{
		{Load{Waited: 2}, false},
		{Load{Others: 2}, false},
		{Load{Others: 0.3, Waited: 0.1}, true},
		{Load{Stolen: 0.1}, true},
		{Load{Others: 0.1, Waited: 0.04, Stolen: 0.04}, false},
	} {
		if got := x.Starved(); got != x.want {
			t.Errorf("%v: starved %v", x.Load, got)
		}
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
