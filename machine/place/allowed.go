// SPDX-License-Identifier: MIT

package place

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// allowed are the CPUs that this process may use.
type allowed struct {
	// Pin are those that a thread can be bound to: all that the control group's cpuset
	// leaves. For another one sched_setaffinity fails with EINVAL, and of several the kernel
	// takes those that it may, without a word (kernel/sched/syscalls.c: __sched_setaffinity,
	// Linux 7.3.4).
	Pin []int
	// Own are those that the process was started on, such as by taskset. A thread may leave
	// them, and does where a user names a CPU; what is chosen stays with them.
	Own []int
}

// AllowedCPUs asks the kernel, the first time: later a thread of the process may have been
// bound to one.
var AllowedCPUs = sync.OnceValues(allowedCPUs)

func allowedCPUs() (a allowed, err error) {
	var own unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getpid(), &own); err != nil {
		return a, fmt.Errorf("read the CPUs of this process: sched_getaffinity: %w", err)
	}
	a.Own = cpusOf(&own)
	a.Pin = a.Own
	if all, err := widest(); err == nil { // a sandbox may forbid it
		a.Pin = all
	}
	return a, nil
}

// widest finds the CPUs that are left of all, when a thread asks for all.
func widest() ([]int, error) {
	type result struct {
		cpus []int
		err  error
	}
	c := make(chan result)
	go func() {
		runtime.LockOSThread() // ends with the goroutine: it has other CPUs now
		if unix.Gettid() == unix.Getpid() {
			// The main thread does not end: let another goroutine take another one.
			cpus, err := widest()
			runtime.UnlockOSThread()
			c <- result{cpus, err}
			return
		}
		var set unix.CPUSet
		for i := range len(set) * 64 {
			set.Set(i)
		}
		err := unix.SchedSetaffinity(0, &set)
		var got unix.CPUSet // of which the kernel writes as much as it has CPUs
		if err == nil {
			err = unix.SchedGetaffinity(0, &got)
		}
		c <- result{cpusOf(&got), err}
	}()
	r := <-c
	return r.cpus, r.err
}

func cpusOf(set *unix.CPUSet) (cpus []int) {
	for i := range len(set) * 64 {
		if set.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return cpus
}

// CanPin reports whether a thread of this process can be bound to a CPU; unknown is yes.
func (a allowed) CanPin(cpu int) bool { return len(a.Pin) == 0 || slices.Contains(a.Pin, cpu) }
