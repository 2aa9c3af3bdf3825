// SPDX-License-Identifier: MIT

package perf

import (
	"os"
	"reflect"
	"runtime"
	"testing"

	"github.com/zcbench/zcbench/profile/perf/perftest"
	"golang.org/x/sys/unix"
)

// burn keeps a CPU busy; it is a function of its own, to be found in samples, and calls none.
//
//go:noinline
func burn(rounds int) {
	var x uint64
	for i := range rounds {
		x = x*6364136223846793005 + uint64(i)
	}
	runtime.KeepAlive(x)
}

// opened is a sampler until the test ends.
func opened(t *testing.T, o Options) *Sampler {
	t.Helper()
	return perftest.Open(t, func() (*Sampler, error) { return Open(o) })
}

// A thread that burns CPU time is found burning it, wherever it runs: enough CPU time for 200
// samples makes at least 100 of it, whatever else the machine does.
func TestIntegrationSampling(t *testing.T) {
	for name, o := range map[string]Options{"thread": {}, "CPUs": {}, "clock": {Clock: true}} {
		t.Run(name, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			if name == "thread" {
				o.Threads = []int{unix.Gettid()}
			}
			o.Hz, o.Bytes = 999, 16<<20
			for c := range runtime.NumCPU() {
				o.CPUs = append(o.CPUs, c)
			}
			s := opened(t, o)
			if o.Clock && (s.Event.Name != "cpu-clock" || !s.Event.Nanoseconds) {
				t.Errorf("%+v", s.Event)
			}
			t.Logf("%+v", s.Event)
			if err := s.Start(); err != nil {
				t.Fatal(err)
			}
			for from := threadTime(t); threadTime(t) < from+200e6; {
				burn(10_000)
			}
			r, err := s.Stop()
			if err != nil {
				t.Fatal(err)
			}
			found(t, r)
		})
	}
}

func found(t *testing.T, r *Recording) {
	t.Helper()
	own, mine := 0, 0
	lo := uint64(reflect.ValueOf(burn).Pointer())
	last := map[int]int64{}
	tally, err := r.Each(0, 0, func(s *Sample) {
		if s.AtNs < last[s.CPU] {
			t.Errorf("CPU %d: %d after %d", s.CPU, s.AtNs, last[s.CPU])
		}
		last[s.CPU] = s.AtNs
		if s.PID != os.Getpid() {
			return
		}
		own++
		if len(s.Kernel) == 0 && len(s.User) > 0 && s.User[0] >= lo && s.User[0] < lo+200 {
			mine++
		}
	})
	if err != nil || tally.Lost != 0 || tally.Left != 0 || tally.Odd != 0 {
		t.Errorf("%+v, %v", tally, err)
	}
	if own < 100 || mine < own/3 {
		t.Errorf("%d samples of this process, %d of them burning; all %+v", own, mine, tally)
	}
}

func threadTime(t *testing.T) int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		t.Fatal(err)
	}
	return ts.Nano()
}

// What there is no room for is counted, and what was kept can be read.
func TestIntegrationFull(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := opened(t, Options{CPUs: []int{0}, Threads: nil, Hz: 4999, Bytes: 4096, Clock: true})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	var one unix.CPUSet
	one.Set(0)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Skip(err)
	}
	defer unix.SchedSetaffinity(0, &all)
	for from := threadTime(t); threadTime(t) < from+250e6; {
		burn(10_000)
	}
	r, err := s.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if tally, err := r.Each(0, 0, func(*Sample) {}); err != nil || tally.Left < 500 {
		t.Errorf("%+v, %v: some 1250 samples have no room in 4096 bytes", tally, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	if _, err := Open(Options{}); err == nil {
		t.Error("no CPU is sampled")
	}
	if _, err := Open(Options{CPUs: []int{0}, Threads: []int{1 << 29}}); err == nil {
		t.Error("a thread that is not there is sampled")
	}
}

// Samples by a count are by that or none: a clock in its place would tell of something else.
func TestOfCount(t *testing.T) {
	for _, of := range []Count{Instructions, LLCMisses} {
		s, err := Open(Options{CPUs: []int{0}, Of: of})
		if err != nil {
			t.Logf("%s: %v", of, err)
			continue
		}
		if s.Event.Name != string(of) || s.Event.Nanoseconds {
			t.Errorf("asked for %s, sampled by %+v", of, s.Event)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
