// SPDX-License-Identifier: MIT

package main

import (
	"time"

	"github.com/zcbench/zcbench/machine/counter"
)

// machine is the state of the whole machine at one moment.
type machine struct {
	softirqs counter.Softirqs
	cpu      counter.CPUSnapshot
	tasks    time.Duration // CPU time of all processes
	err      error
}

func readMachine() machine {
	var m machine
	if m.softirqs, m.err = counter.ReadSoftirqs(counter.FS{}); m.err != nil {
		return m
	}
	if m.tasks, m.err = tasksTime("/proc"); m.err != nil {
		return m
	}
	m.cpu, m.err = counter.ReadCPU(counter.FS{})
	return m
}

// busyCores computes how many cores were busy between two states, on average, without what a
// hypervisor took.
func busyCores(u counter.CPUUsage) float64 {
	if u.BusyCores == nil {
		return 0
	}
	return *u.BusyCores - *u.StealCores
}

// load is what a run and others used of the machine between two states.
type load struct {
	total   time.Duration // of the run: both processes, and the softirqs outside of them
	foreign float64       // cores that others kept busy: compilers, other tests, kernel threads
}

// loadOf divides the load between a run, whose own processes used cpu, and others.
//
// A softirq runs over the process that is on the CPU then, whose time it is, or over none: in
// ksoftirqd, or when the CPU was idle. What it takes there is in no process's time. But it is in
// that of the CPUs, which is exact, other than the column softirq, which is sampled
// (docs/metrics.md). So the run's total is the time in which the CPUs were busy, less that of the
// other processes. With CONFIG_IRQ_TIME_ACCOUNTING, where no process has the time of softirqs, it
// is the same.
func loadOf(a, b machine, cpu time.Duration) load {
	u := counter.Usage(a.cpu, b.cpu, nil)
	busy := time.Duration(busyCores(u) * u.WallS * float64(time.Second))
	others := max(0, b.tasks-a.tasks-cpu)
	l := load{total: max(cpu, busy-others)}
	if u.WallS > 0 {
		l.foreign = others.Seconds() / u.WallS
	}
	return l
}
