// SPDX-License-Identifier: MIT

package main

import (
	"math"
	"testing"
	"time"

	"github.com/zcbench/zcbench/machine/counter"
)

func TestLoadOf(t *testing.T) {
	// Two seconds on two CPUs: 50 + 30 ticks idle or waiting of 400, and 20 stolen.
	at := func(ns int64, tasks time.Duration, a, b counter.CPUTicks) machine {
		b.CPU = 1
		return machine{tasks: tasks, cpu: counter.CPUSnapshot{AtNs: ns, CPUs: []counter.CPUTicks{a, b}}}
	}
	before := at(1e9, 100*time.Second, counter.CPUTicks{Idle: 100}, counter.CPUTicks{Idle: 200, Steal: 5})
	after := at(3e9, 102600*time.Millisecond, counter.CPUTicks{Idle: 150}, counter.CPUTicks{Idle: 210, IOWait: 20,
		Steal: 25})
	if got := busyCores(counter.Usage(before.cpu, after.cpu, nil)); !near(got, 1.5) {
		t.Errorf("busy %v cores, want 1.5", got)
	}
	for _, tc := range []struct {
		what           string
		cpu            time.Duration
		total, foreign float64
	}{
		{"softirqs in no process, 0.4 s", 2200 * time.Millisecond, 2.6, 0.2},
		{"no others", 2600 * time.Millisecond, 3, 0},
		{"more than all processes: rounding", 2700 * time.Millisecond, 3, 0},
		{"softirqs over others' processes", 500 * time.Millisecond, 0.9, 1.05},
	} {
		got := loadOf(before, after, tc.cpu)
		if !near(got.total.Seconds(), tc.total) || !near(got.foreign, tc.foreign) {
			t.Errorf("%s: total %v, foreign %v cores; want %v s, %v", tc.what, got.total, got.foreign, tc.total,
				tc.foreign)
		}
	}
	// The CPUs cannot have been busy for less than the run's own processes.
	after.tasks = 105 * time.Second
	if got := loadOf(before, after, 2*time.Second); got.total != 2*time.Second {
		t.Errorf("total %v, want the processes' own 2s", got.total)
	}
}

// near reports whether two figures are the same but for rounding.
func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }
