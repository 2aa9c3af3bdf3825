// SPDX-License-Identifier: MIT

package main

import (
	"math"
	"testing"
	"time"

	"github.com/zcbench/zcbench/machine/counter"
)

func TestForeignCores(t *testing.T) {
	// Two seconds on two CPUs: 50 + 30 ticks idle or waiting of 400.
	at := func(ns int64, a, b counter.CPUTicks) machine {
		b.CPU = 1
		return machine{cpu: counter.CPUSnapshot{AtNs: ns, CPUs: []counter.CPUTicks{a, b}}}
	}
	before := at(1e9, counter.CPUTicks{Idle: 100}, counter.CPUTicks{Idle: 200})
	after := at(3e9, counter.CPUTicks{Idle: 150}, counter.CPUTicks{Idle: 210, IOWait: 20})
	if got := busyCores(counter.Usage(before.cpu, after.cpu, nil)); !near(got, 1.6) {
		t.Errorf("busy %v cores, want 1.6", got)
	}
	if got := foreignCores(before, after, 3*time.Second); !near(got, 0.1) {
		t.Errorf("foreign %v cores, want 1.6 - 1.5", got)
	}
	if got := foreignCores(before, after, 4*time.Second); got != 0 {
		t.Errorf("foreign %v cores, want none", got)
	}
}

// near reports whether two figures are the same but for rounding.
func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
