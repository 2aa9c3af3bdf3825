// SPDX-License-Identifier: MIT

package pinned

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// A thread that is bound to one CPU is seen, and one that may run on all is not.
func TestThreads(t *testing.T) {
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		t.Fatal(err)
	}
	if may.Count() < 2 {
		t.Skip("this process may use one CPU alone: all its threads are bound to it")
	}
	cpu := 0
	for !may.IsSet(cpu) {
		cpu++
	}
	if got := Threads(os.Getpid()); len(got) > 0 {
		t.Fatalf("threads on %v before any was bound", got)
	}
	bound, done := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // and it ends with this function, unless it is the process's first
		var one unix.CPUSet
		one.Set(cpu)
		bound <- unix.SchedSetaffinity(0, &one)
		<-done
		bound <- unix.SchedSetaffinity(0, &may)
	}()
	defer func() {
		close(done)
		if err := <-bound; err != nil {
			t.Error(err)
		}
	}()
	if err := <-bound; err != nil {
		t.Fatal(err)
	}
	if got := Threads(os.Getpid()); !slices.Equal(got, []int{cpu}) {
		t.Errorf("threads on %v, want %d", got, cpu)
	}
}

func TestChildren(t *testing.T) {
	c := exec.Command("sleep", "1000")
	if err := c.Start(); err != nil {
		t.Skip(err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if got := Children(os.Getpid()); len(got) > 0 {
			t.Errorf("children %v, and it has ended", got)
		}
	}()
	if got := Children(os.Getpid()); !slices.Equal(got, []int{c.Process.Pid}) {
		t.Errorf("children %v, want %d", got, c.Process.Pid)
	}
}
