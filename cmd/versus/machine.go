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

// busyCores is how many cores were busy between two states, on average.
func busyCores(u counter.CPUUsage) float64 {
	if u.BusyCores == nil {
		return 0
	}
	return *u.BusyCores
}

// foreignCores is how many cores others kept busy during a run whose own
// processes used cpu: compilers, other tests, kernel threads, the hypervisor.
func foreignCores(a, b machine, cpu time.Duration) float64 {
	u := counter.Usage(a.cpu, b.cpu, nil)
	return max(0, busyCores(u)-cpu.Seconds()/u.WallS)
}
