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
	err      error
}

func readMachine() machine {
	var m machine
	if m.softirqs, m.err = counter.ReadSoftirqs(counter.FS{}); m.err != nil {
		return m
	}
	m.cpu, m.err = counter.ReadCPU(counter.FS{})
	return m
}

// busyCores is how many cores were busy between two states, on average: all time
// that was neither idle nor waiting for a disk, what a hypervisor took included.
func busyCores(a, b counter.CPUSnapshot) float64 {
	wall := float64(b.AtNs-a.AtNs) / 1e9
	var idle, cores float64
	for i := range min(len(a.CPUs), len(b.CPUs)) {
		if a.CPUs[i].CPU != b.CPUs[i].CPU {
			continue // one went offline: leave both out
		}
		cores++
		idle += float64(b.CPUs[i].Idle-a.CPUs[i].Idle+b.CPUs[i].IOWait-a.CPUs[i].IOWait) / 100 // USER_HZ
	}
	return max(0, cores-idle/wall)
}

// foreignCores is how many cores others kept busy during a run whose own
// processes used cpu: compilers, other tests, kernel threads, the hypervisor.
func foreignCores(a, b machine, cpu time.Duration) float64 {
	wall := float64(b.cpu.AtNs-a.cpu.AtNs) / 1e9
	return max(0, busyCores(a.cpu, b.cpu)-cpu.Seconds()/wall)
}
