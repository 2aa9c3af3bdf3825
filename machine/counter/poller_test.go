// SPDX-License-Identifier: MIT

package counter

import (
	"math"
	"testing"
)

// between0and1s are two snapshots of CPUs 0 and 1, a second apart: CPU 1 was busy for
// .6 cores, all of it counted as system time.
func pollerSnapshots(measured []int, p *Pollers, before, after pollerTimes) (Snapshot, Snapshot) {
	cfg := Config{CPUs: measured, Pollers: p}
	b := Snapshot{Config: cfg, CPU: CPUSnapshot{AtNs: 0, CPUs: []CPUTicks{{CPU: 0}, {CPU: 1}}},
		Threads: []ThreadTimes{{TID: 1, Pinned: 1}}, Pollers: []pollerTimes{before}}
	a := Snapshot{Config: cfg, CPU: CPUSnapshot{AtNs: 1e9, CPUs: []CPUTicks{{CPU: 0, Idle: 50, System: 50},
		{CPU: 1, Idle: 40, System: 60}}},
		Threads: []ThreadTimes{{TID: 1, Pinned: 1, RunNs: .2e9}}, Rusage: Rusage{RunNs: .2e9},
		Pollers: []pollerTimes{after}}
	return b, a
}

// A NAPI thread's time is the flow's on whatever CPU it ran, once: on a measured CPU it
// is in busy already, elsewhere it is added; on neither is it load of others.
func TestPollersAreTheFlows(t *testing.T) {
	thread := func(ns int64, on []int64, allowed ...int) pollerTimes {
		return pollerTimes{ThreadTimes: ThreadTimes{PID: 9, TID: 9, Name: "napi/eth0-8193", RunNs: ns, Pinned: -1},
			OnNs: on, Allowed: allowed}
	}
	for name, x := range map[string]struct {
		measured      []int
		before, after pollerTimes
		busy, foreign float64 // foreign is of CPU 1, at the least
		warned        bool
	}{
		"on the measured CPU": {[]int{1}, thread(0, []int64{0}, 0, 1), thread(.4e9, []int64{.4e9}, 0, 1), .6,
			0, false},
		"on another": {[]int{1}, thread(0, []int64{0}, 0, 1), thread(.3e9, []int64{0}, 0, 1), .9,
			.4, false},
		"on both": {[]int{1}, thread(1e9, []int64{.5e9}, 0, 1),
			thread(1.5e9, []int64{.7e9}, 0, 1), .9, .2, false},
		"all CPUs are measured": {nil, thread(0, []int64{0, 0}, 0, 1), thread(.7e9, []int64{.3e9, .4e9}, 0, 1),
			1.1, 0, false},
		"perf says nothing, kept in":   {[]int{1}, thread(0, nil, 1), thread(.4e9, nil, 1), .6, 0, false},
		"perf says nothing, kept out":  {[]int{1}, thread(0, nil, 0), thread(.4e9, nil, 0), 1.0, 0, false},
		"perf says nothing, anywhere":  {[]int{1}, thread(0, nil, 0, 1), thread(.4e9, nil, 0, 1), .6, 0, true},
		"perf says nothing, was moved": {[]int{1}, thread(0, nil, 0), thread(.4e9, nil, 1), .6, 0, true},
		"it is there, and does nothing": {[]int{1}, thread(5, []int64{5}, 0, 1), thread(5, []int64{5}, 0, 1), .6, .4,
			false},
	} {
		p := &Pollers{cpus: x.measured, threads: make([]poller, 1), missing: "perf may not"}
		if x.measured == nil {
			p.cpus = []int{0, 1}
		}
		ms, c := Delta(pollerSnapshots(x.measured, p, x.before, x.after))
		h := c.Figures()
		used := float64(x.after.RunNs-x.before.RunNs) / 1e9
		if math.Abs(*h.CPUBusyCores-x.busy) > 1e-9 || math.Abs(*h.CPUPollerCores-used) > 1e-9 ||
			math.Abs(*h.CPUSysCores-x.busy) > 1e-9 {
			t.Errorf("%s: busy %v, system %v, pollers %v; want %v, the same, %v", name, *h.CPUBusyCores, *h.CPUSysCores,
				*h.CPUPollerCores, x.busy, used)
		}
		last := c.Foreign[len(c.Foreign)-1]
		if math.Abs(*last.LowCores-x.foreign) > 1e-9 {
			t.Errorf("%s: %v cores of CPU %d are load of others, want %v", name, *last.LowCores, last.CPU, x.foreign)
		}
		if (len(c.Warnings) > 0 && *h.CPUBusyU > .2) != x.warned {
			t.Errorf("%s: uncertain by %v, %q", name, *h.CPUBusyU, c.Warnings)
		}
		if v := metric(t, ms, "poller_cores"); math.Abs(v.Value-used) > 1e-9 {
			t.Errorf("%s: %+v", name, v)
		}
		if len(c.Polled.Of) != 1 || math.Abs(c.Polled.Of[9]-used) > 1e-9 {
			t.Errorf("%s: threads %v", name, c.Polled.Of)
		}
	}
}

// Without such threads busy is what it was, and says how uncertain it is.
func TestNoPollers(t *testing.T) {
	b, a := pollerSnapshots([]int{1}, nil, pollerTimes{}, pollerTimes{})
	_, c := Delta(b, a)
	h := c.Figures()
	if *h.CPUBusyCores != .6 || h.CPUPollerCores != nil || math.Abs(*h.CPUBusyU-.01/math.Sqrt(3)) > 1e-9 {
		t.Errorf("busy %v, uncertain by %v, pollers %v", *h.CPUBusyCores, *h.CPUBusyU, h.CPUPollerCores)
	}
}

// What perf counts of a thread on a CPU, and on all, is what the thread's own clock says.
func TestPollersCountOnEachCPU(t *testing.T) {
	all := allowedCPUs(0)
	if len(all) < 2 {
		t.Skip("one CPU")
	}
	first, last := all[0], all[len(all)-1]
	tid, burn := startWorker(t, last)
	for _, measured := range [][]int{{first}, {last}} {
		p := OpenPollers(FS{}, []int{tid}, measured)
		defer p.Close()
		if p.missing != "" {
			t.Skip(p.missing)
		}
		cfg := Config{CPUs: measured, Pollers: p}
		before, err := Take(cfg)
		if err != nil {
			t.Fatal(err)
		}
		burn(100e6)
		cfg.End = true
		after, err := Take(cfg)
		if err != nil {
			t.Fatal(err)
		}
		uses := p.between(before.Pollers, after.Pollers, measured)
		if len(uses) != 1 || uses[0].RunNs < 99e6 {
			t.Fatalf("%+v", uses)
		}
		want := uses[0].RunNs
		if measured[0] == last {
			want = 0
		}
		if off := uses[0].OutsideNs - want; off < -1e6 || off > 1e6 {
			t.Errorf("measured CPU %d, the thread is on %d: %d of its %d ns were outside", measured[0], last,
				uses[0].OutsideNs, uses[0].RunNs)
		}
	}
	gone := OpenPollers(FS{}, []int{1 << 22}, []int{first}) // no thread has such a number
	defer gone.Close()
	if got, err := gone.Read(); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}
