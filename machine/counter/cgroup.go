// SPDX-License-Identifier: MIT

package counter

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/zcbench/zcbench/machine/cgroup"
	"github.com/zcbench/zcbench/machine/measure"
)

const (
	cpuStatSource  = "cgroup cpu.stat"
	memoryEvents   = "cgroup memory.events.local"
	memoryFailures = "cgroup memory.failcnt"
	unseenSource   = "/proc/PID/task/TID/schedstat; /proc/stat"
	pressureSource = "cgroup cpu.pressure, memory.pressure"
)

// cgroups reports what the limits of this process's control groups did in the window, by how many
// levels a group is above its own. The quality of a row says which limit it was, in words.
func (c *Change) cgroups(r *rows, before, after *cgroup.Reading) {
	d := cgroup.Between(before, after)
	if d == nil {
		return
	}
	for i := range d.CPU {
		g := &d.CPU[i]
		if !g.Counted || g.Periods == 0 {
			continue // no limit, or nothing ran that it could have held back
		}
		level, held := strconv.Itoa(g.Up), g.Held()
		r.add("cgroup_N_periods", "1", float64(g.Periods), cpuStatSource, "", level)
		r.add("cgroup_N_throttled_periods", "1", float64(g.Throttled), cpuStatSource, "", level)
		r.add("cgroup_N_throttled_us", "us", float64(g.ThrottledUs), cpuStatSource, "", level)
		r.add(measure.MetricThrottled, "1", float64(g.Throttled)/float64(g.Periods), cpuStatSource, held, level)
		c.warnOf(held)
	}
	stalled := ""
	if us := d.Pressure.MemorySome; us != nil && r.seconds > 0 {
		share := float64(*us) / 1e6 / r.seconds
		stalled = fmt.Sprintf("; tasks of its own cgroup waited for memory for %.1f %% of the window", 100*share)
		r.add(measure.MetricMemoryStall, "1", share, pressureSource, "")
	}
	for i := range d.Memory {
		m := &d.Memory[i]
		level := strconv.Itoa(m.Up)
		if held := m.HeldHigh(); held != "" {
			r.add(measure.MetricMemoryHigh, "1", float64(*m.HighEvents), memoryEvents, held+stalled, level)
			c.warnOf(held + stalled)
		}
		if held := m.HeldMax(); held != "" {
			source := memoryEvents
			if m.V1 {
				source = memoryFailures
			}
			r.add(measure.MetricMemoryMax, "1", float64(*m.MaxEvents), source, held+stalled, level)
			c.warnOf(held + stalled)
		}
	}
	for _, x := range []struct {
		name string
		us   *uint64
	}{{"cpu_some", d.Pressure.CPUSome}, {"cpu_full", d.Pressure.CPUFull}, {"memory_some", d.Pressure.MemorySome},
		{"memory_full", d.Pressure.MemoryFull}} {
		if x.us != nil {
			r.add("cgroup_pressure_"+x.name+"_us", "us", float64(*x.us), pressureSource, "")
		}
	}
}

// wakeNs is allowed for one wake of a thread: how long it waits for its CPU to leave an idle state.
// The deepest states of processors take 0.1 to 0.2 ms (drivers/idle/intel_idle.c: exit_latency).
const wakeNs = 200_000

// leastHeld is from which share of the window on a thread's waiting shows a limit.
const leastHeld = .05

// heldUnseen finds a CPU limit of a group that cannot be seen, as of those above a container. A
// thread that can run waits while another has its CPU, and else for as long only as that takes to
// wake; one that waits while its CPU is idle is throttled: it stays in the run queue of its group,
// which is out of that of the CPU (kernel/sched/fair.c: throttle_cfs_rq; stats.h:
// sched_info_depart).
func (c *Change) heldUnseen(r *rows, slackS float64) {
	if r.seconds <= 0 {
		return
	}
	held := 0.
	for _, t := range c.Threads {
		if !t.HasWait || t.New || t.CPU < 0 {
			continue
		}
		i := slices.IndexFunc(c.CPU.PerCPU, func(u OneCPUUsage) bool { return u.CPU == t.CPU && u.BusyCores != nil })
		if i < 0 {
			continue
		}
		u := c.CPU.PerCPU[i]
		// the hypervisor's may be in idle time, too
		others := max(*u.BusyCores-float64(t.RunNs)/1e9/r.seconds, 0) + *u.StealCores
		doubt := u.UncertaintyCores + slackS/r.seconds + float64(t.Voluntary)*wakeNs/1e9/r.seconds
		held = max(held, float64(t.WaitNs)/1e9/r.seconds-others-doubt)
	}
	if held < leastHeld {
		return
	}
	words := fmt.Sprintf("a thread of its own could run and did not for %.0f %% of the window, while its CPU was "+
		"idle: a CPU limit (cpu.max) of a cgroup above this container, which is not seen from here", 100*held)
	r.add(measure.MetricUnseenLimit, "1", held, unseenSource, words)
	c.warnOf(words)
}

func (c *Change) warnOf(held string) {
	if held != "" {
		c.Warnings = append(c.Warnings, held)
	}
}

// CgroupMetrics describe what limits of control groups did.
var CgroupMetrics = []measure.MetricDoc{
	{Names: "cgroup_N_throttled_share cgroup_N_throttled_periods cgroup_N_periods cgroup_N_throttled_us",
		Units: "1 1 1 us", Source: "cgroup cpu.stat",
		Meaning: "of a CPU limit (cpu.max; version 1: cpu.cfs_quota_us): the share of its periods in " +
			"which it throttled, how many, of how many, and for how long, its CPUs added up. N is how " +
			"many levels the cgroup is above that of zcbench on this host, 0 its own; the quality " +
			"column names it. Missing where there is no limit"},
	{Names: "cgroup_unseen_held_share", Units: "1",
		Source: "/proc/PID/task/TID/schedstat; /proc/stat",
		Meaning: "in a container from which the cgroups above are not seen: the share of the window " +
			"in which a thread of zcbench could run and did not, while its CPU was idle, which is " +
			"what a CPU limit above does; missing below 0.05"},
	{Names: "cgroup_N_memory_high cgroup_N_memory_max",
		Units: "1", Source: "cgroup memory.events.local; cgroup memory.failcnt",
		Meaning: "times that memory.high, or memory.max (version 1: memory.limit_in_bytes), made " +
			"tasks reclaim memory, by level; missing where that did not happen"},
	{Names: "cgroup_memory_stall",
		Units: "1", Source: "cgroup cpu.pressure, memory.pressure",
		Meaning: "share of the window in which some task of zcbench's own cgroup waited for memory"},
	{Names: "cgroup_pressure_cpu_some_us cgroup_pressure_cpu_full_us cgroup_pressure_memory_some_us " +
		"cgroup_pressure_memory_full_us",
		Units: "us", Source: "cgroup cpu.pressure, memory.pressure",
		Meaning: "how long some tasks of zcbench's own cgroup, or all of them at once, waited for a " +
			"CPU or for memory (PSI); missing in the root cgroup, and where the kernel does not count it"},
}
