// SPDX-License-Identifier: MIT

package perf

import (
	"runtime"
	"testing"

	"github.com/zcbench/zcbench/machine/counter"
	"golang.org/x/sys/unix"
)

// Each CPU's event tells for how much of the time samples came. Of threads the events on all CPUs
// together tell how long they ran, unless other events had counters meanwhile.
func TestCounted(t *testing.T) {
	counts := map[int]counter.EventCount{0: {EnabledNs: 1000, RunningNs: 1000}, 3: {EnabledNs: 1000, RunningNs: 250},
		5: {}}
	all, none := Recording{}, Recording{}
	all.counted(counts)
	none.counted(nil)
	if all.Share != .25 || all.Shares[0] != 1 || all.Shares[3] != .25 || all.RanNs != 0 || none.Share != 1 {
		t.Errorf("%+v; %+v", all, none)
	}
	for _, x := range []struct {
		on0, on1 uint64 // a thread that ran for 1000 ns
		share    float64
		ran      int64
	}{{750, 250, 1, 1000}, {1000, 0, 1, 1000}, {985, 0, 1, 985}, {400, 100, .5, 0}, {0, 0, 0, 0}} {
		r := Recording{Threads: true}
		if r.counted(map[int]counter.EventCount{0: {EnabledNs: 1000, RunningNs: x.on0},
			1: {EnabledNs: 1000, RunningNs: x.on1}}); r.Share != x.share || r.RanNs != x.ran {
			t.Errorf("%+v: %v, %d ns", x, r.Share, r.RanNs)
		}
	}
}

// The kernel says for how long it sampled: CPUs all the time, where nothing else wants their
// counters, and a thread for as long as it ran.
func TestIntegrationCounted(t *testing.T) {
	cpus, err := counter.OnlineCPUs(counter.FS{})
	if err != nil {
		t.Fatal(err)
	}
	s := opened(t, Options{CPUs: cpus[:1], Clock: true, Bytes: 1 << 20})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	burn(1_000_000)
	r, err := s.Stop()
	if err != nil || r.Share < .99 || r.Share > 1 || r.RanNs != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A thread's own events have no turns to take: they say how long it ran, on whichever CPUs.
func TestIntegrationCountedThread(t *testing.T) {
	cpus, err := counter.OnlineCPUs(counter.FS{})
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := opened(t, Options{CPUs: cpus, Threads: []int{unix.Gettid()}, Clock: true, Bytes: 1 << 20})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	burn(50_000_000)
	r, err := s.Stop()
	if err != nil || r.Share != 1 || r.RanNs < 1e6 || r.Shares != nil {
		t.Errorf("%+v, %v", r, err)
	}
}
