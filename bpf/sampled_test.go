// SPDX-License-Identifier: MIT

package bpf_test

import (
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/profile/perf"
	"golang.org/x/sys/unix"
)

// While CPUs are sampled by the clock each sample is timed, at the rate that was asked for; while
// nobody samples there is none.
func TestIntegrationSampled(t *testing.T) {
	kind.Timed(t)
	needRoot(t)
	hostOnly(t)
	var cpus []int
	for c := range runtime.NumCPU() {
		cpus = append(cpus, c)
	}
	const hz = 999
	s, err := perf.Open(perf.Options{CPUs: cpus, Hz: hz, Clock: true, Bytes: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w, err := bpf.OpenSampled(true)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	whole, err := bpf.OpenSampledInterrupt()
	if err != nil && runtime.GOARCH == "amd64" {
		t.Fatal(err)
	}
	if err == nil {
		defer whole.Close()
	}
	quiet, err := w.Measure(t.Context(), 80*time.Millisecond, len(cpus))
	if err != nil || quiet.Runs != 0 || quiet.Ns != 0 {
		t.Errorf("nobody samples, and yet %+v, %v", quiet, err)
	}
	for _, c := range cpus { // some virtual machines lose samples of idle CPUs
		spin(t, c)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	c, err := w.Measure(t.Context(), 400*time.Millisecond, len(cpus))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", c)
	if whole != nil {
		i, err := whole.Measure(t.Context(), 200*time.Millisecond, len(cpus))
		// of other samples: nearly always more
		if err != nil || i.Runs == 0 || i.Ns < c.Ns/2 || i.Hook.Stage != "profile-interrupt" {
			t.Errorf("the interrupt: %+v, %v", i, err)
		}
		t.Logf("%+v", i)
	}
	r, err := s.Stop()
	if err != nil {
		t.Fatal(err)
	}
	taken, err := r.Each(0, 0, func(*perf.Sample) {})
	if err != nil {
		t.Fatal(err)
	}
	if all := taken.Samples + taken.Lost + taken.Left; c.Runs == 0 || c.Runs > all || c.Hz > 1.2*hz {
		t.Errorf("%d samples were taken, %d timed, %.0f a second of each CPU", all, c.Runs, c.Hz)
	}
	if c.Ns < 100 || c.Ns > 1e6 || !c.Whole || math.Abs(c.Core-c.Ns*c.Hz/1e9) > 1e-12 ||
		c.Hook.Stage != "profile" || c.Hook.Function != "cpu-clock" {
		t.Errorf("%+v", c)
	}
}

// spin keeps a CPU busy until the test ends.
func spin(t *testing.T, cpu int) {
	t.Helper()
	var stop atomic.Bool
	pinned, ended := make(chan error), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // and never let go: the thread ends with the pin
		var set unix.CPUSet
		set.Set(cpu)
		pinned <- unix.SchedSetaffinity(0, &set)
		for !stop.Load() {
		}
	}()
	if err := <-pinned; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop.Store(true); <-ended })
}

// A kernel without cycles is asked for what it does not have, and says so.
func TestIntegrationSampledByCycles(t *testing.T) {
	needRoot(t)
	hostOnly(t)
	if runtime.GOARCH != "amd64" {
		t.Skip("samples by cycles come by an NMI on x86 alone")
	}
	w, err := bpf.OpenSampled(false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	c, err := w.Measure(t.Context(), 8*time.Millisecond, 1)
	if err != nil || !c.Whole || c.Hook.Function != "cycles" {
		t.Errorf("%+v, %v", c, err)
	}
}
