// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/veth/vethtest"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// threaded gives NAPI of the receiver's veth a kernel thread, and returns its number.
func (r *rig) threaded(t *testing.T, how string) (pid int) {
	t.Helper()
	vethtest.NoTSO(t, r.pair.TG)
	vethtest.GRO(t, r.pair.SUT, true)
	lacks := "" // said outside: who skips a test ends its goroutine, and that in there is another one
	err := r.pair.SUT.Netns.Do(func() error {
		d, err := nic.Open(r.pair.SUT.Dev)
		if err != nil {
			return err
		}
		defer d.Close()
		all, err := d.NAPIs()
		if err != nil {
			return err
		}
		if len(all) == 0 || all[0].Threaded == "" {
			lacks = "this kernel has no threaded NAPI by netlink (6.17), or veth no NAPI"
			return nil
		}
		s := all[0].NAPISettings
		s.Threaded = how
		switch err := d.SetNAPI(all[0].ID, s); {
		case errors.Is(err, unix.ERANGE):
			lacks = "this kernel knows no NAPI that is threaded " + how
			return nil
		case err != nil:
			return err
		}
		all, err = d.NAPIs()
		if err == nil && all[0].PID == 0 {
			err = errors.New("it is threaded, and has no thread")
		}
		if err == nil {
			pid = all[0].PID
		}
		return err
	})
	switch {
	case err != nil:
		t.Fatal(err)
	case lacks != "":
		t.Skip(lacks)
	}
	return pid
}

// runTime is what a thread has used by the scheduler's count, which nothing here but the
// test reads.
func runTime(t *testing.T, pid int) float64 {
	t.Helper()
	var ns int64
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err == nil {
		_, err = fmt.Sscan(string(text), &ns)
	}
	if err != nil {
		t.Fatal(err)
	}
	return float64(ns) / 1e9
}

func metricOf(t *testing.T, h *results.Host, name string) float64 {
	t.Helper()
	for i := range h.Metrics {
		if h.Metrics[i].Named() == name {
			return h.Metrics[i].Value
		}
	}
	t.Errorf("no metric %s", name)
	return 0
}

// A kernel thread that does the flow's NAPI is the flow's on whatever CPU it runs: beside
// the measured CPU it is added to the busy cores, on it it is in them already and no load
// of others.
func TestIntegrationThreadedNAPI(t *testing.T) {
	r := newRig(t)
	app := first(r.Runner.Opt.SUTFlows).App
	other := first(r.Runner.Opt.TGFlows).App
	if app < 0 || app == other {
		t.Skip("needs two CPUs")
	}
	pid := r.threaded(t, "on")
	r.bounded(128 << 20)
	c := cell("tcp", "tcp")
	c.PaceBitsPS = 0
	for _, on := range []int{other, app} {
		var set unix.CPUSet
		set.Set(on)
		if err := unix.SchedSetaffinity(pid, &set); err != nil {
			t.Fatal(err)
		}
		before := runTime(t, pid)
		rec := r.Runner.Run(t.Context(), matrix.Run{Cell: c})
		whole := runTime(t, pid) - before
		if rec.Verdict != results.OK {
			t.Fatalf("%s: %s", rec.Verdict, rec.Reason)
		}
		if !slices.Contains(rec.Flags, results.FlagPolled) || rec.TG.CPUPollerCores != nil {
			t.Errorf("flags %q, the sender's pollers %v", rec.Flags, rec.TG.CPUPollerCores)
		}
		h := &rec.SUT
		if p := h.Flows[0].PollerCores; p == nil || *p != metricOf(t, h, measure.MetricBusiestPoller) {
			t.Errorf("the flow's poller used %v, and is the only one", p)
		}
		if by := metricOf(t, h, measure.MetricPolledByThread); by < 90 {
			t.Errorf("it polled %.1f %% of the packets, and is the only one who does", by)
		}
		wall := metricOf(t, h, "cpu_window_s")
		used, outside := metricOf(t, h, "poller_cores"), metricOf(t, h, "poller_outside_cores")
		measured := metricOf(t, h, "cpu_busy_cores")
		t.Logf("NAPI's thread on CPU %d, measured is CPU %d: it used %.3f cores, %.3f outside; busy %.3f cores, "+
			"of CPU %d %.3f; over the whole flow %.3f s", on, app, used, outside, *h.CPUBusyCores, app, measured, whole)
		// The scheduler's count does not have the interrupts that the thread was halted for.
		if used*wall > whole*1.1+.02 || used == 0 {
			t.Errorf("%.3f s in the window, and by the scheduler %.3f s in the whole flow", used*wall, whole)
		}
		want := used
		if on == app {
			want = 0
		}
		if math.Abs(outside-want) > .002 || math.Abs(*h.CPUBusyCores-measured-outside) > 1e-9 ||
			*h.CPUPollerCores != used {
			t.Errorf("outside %v, want %v; busy %v, %v on the measured CPU", outside, want, *h.CPUBusyCores, measured)
		}
		if on != app {
			continue
		}
		// What is load of others is what neither the benchmark's threads nor NAPI's used.
		own := metricOf(t, h, fmt.Sprintf("thread_cpu%d_run_cores", app))
		if high := metricOf(t, h, fmt.Sprintf("foreign_cpu%d_high_cores", app)); high > max(measured-own-used, 0)+.02 {
			t.Errorf("%.3f cores are taken for load of others; busy %.3f, own threads %.3f, NAPI's %.3f", high,
				measured, own, used)
		}
	}
}

// A thread that busy-polls uses its CPU whether anything flows or not: all of it is the
// flow's, and none of it is what the machine does at rest.
func TestIntegrationBusyPollingThread(t *testing.T) {
	r := newRig(t)
	app := first(r.Runner.Opt.SUTFlows).App
	if other := first(r.Runner.Opt.TGFlows).App; app < 0 || app == other {
		t.Skip("needs two CPUs")
	}
	pid := r.threaded(t, "busy-poll")
	var set unix.CPUSet
	set.Set(app)
	if err := unix.SchedSetaffinity(pid, &set); err != nil {
		t.Fatal(err)
	}
	r.Runner.Opt.Rest = 400 * time.Millisecond
	r.bounded(32 << 20) // with much patience: the poller has the receiver's CPU, of a machine that may be emulated
	rec := r.Runner.Run(t.Context(), matrix.Run{Cell: cell("tcp", "tcp")})
	if rec.Verdict != results.OK {
		t.Fatalf("%s: %s", rec.Verdict, rec.Reason)
	}
	h := &rec.SUT
	if h.CPUPollerCores == nil || *h.CPUPollerCores < .1 || h.CPUIdleCores == nil {
		t.Fatalf("pollers %v, idle %v, %q", h.CPUPollerCores, h.CPUIdleCores, rec.Warnings)
	}
	// It has all packets, and most of its polls found none.
	thread, empty, spin := metricOf(t, h, measure.MetricPolledByThread), metricOf(t, h, measure.MetricEmptyPolls),
		metricOf(t, h, measure.MetricSpin)
	if thread < 90 || empty < 10 || spin <= 0 || spin > *h.CPUPollerCores {
		t.Errorf("it polled %.1f %% of the packets; %.1f %% of its polls were empty, and it spun for %.3f cores",
			thread, empty, spin)
	}
	t.Logf("busy %.3f, net %.3f, at rest %.3f, the poller's %.3f cores", *h.CPUBusyCores, *h.CPUNetCores(),
		*h.CPUIdleCores, *h.CPUPollerCores)
	// The CPU is full at rest, too, and nearly all of that is the poller's.
	if rest := metricOf(t, h, "cpu_idle_poller_cores"); rest < .1 || *h.CPUIdleCores+rest > 1.05 {
		t.Errorf("at rest the poller used %.3f cores, and others %.3f", rest, *h.CPUIdleCores)
	}
}
