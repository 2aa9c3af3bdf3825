// SPDX-License-Identifier: MIT

package counter

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/zcbench/zcbench/machine/measure"
)

// Who runs on a CPU, as eBPF sees it.
const (
	tasksIdle    = iota
	TasksOwn     // threads of this process, io_uring's workers among them
	TasksServing // kernel threads that work for the flow: ksoftirqd, NAPI threads, workers at work that it queued
	TasksPeer    // other processes of the benchmark on this machine, such as the flow's other end
	TasksOther
	TasksUntold // kernel threads of which nobody can tell whom they serve
	tasksWaking // the idle task at work: it puts the CPU to rest, or wakes it up
	TaskClasses
)

// What is on top of who runs: softirq makes no switch.
const (
	TaskItself    = iota
	TaskNetOwn    // softirq that polls the flow's interface
	TaskNetOther  // another one, which brings nothing of the flow
	TaskNetUntold // NET_RX and NET_TX of which it is not known: of a backlog, such as loopback's
	TaskSoft      // other softirq: timers, RCU, tasklets
	TaskContexts
)

// TaskTimes is who had each CPU since some beginning. The times of a CPU add up to all of its time.
type TaskTimes struct {
	AtNs    int64      // when they were read, CLOCK_MONOTONIC
	CPUs    []CPUTasks // online ones, ascending
	Unread  []int      // online ones that change too fast to be read
	EventNs float64    // what the program itself takes at a switch, measured
	OtherNs float64    // at a switch to another task and away from it
	Missed  uint64     // events that it did not see
	// Programs is how many of the kind are at work, as far as is known: the flow's other end on
	// this machine has one, too.
	Programs int
	Steal    bool // what the hypervisor took is known
	// Polled: the flow's interface has polls of its own, so that those of which nobody can tell
	// are likely not its.
	Polled bool
}

// CPUTasks is who had one CPU, in ns.
type CPUTasks struct {
	CPU int
	Ns  [TaskClasses][TaskContexts]int64
	// Hard is what interrupts took of Ns[...][TaskItself]: work that no task did. Whose it is
	// nothing tells.
	Hard [TaskClasses]int64
	// Turns counts switches to each class, Softs softirqs on top of it, Polls those in them, Hards
	// interrupts.
	Turns, Softs, Polls, Hards [TaskClasses]uint64
	Stolen                     [TaskClasses]int64 // what the hypervisor took of Ns[...]
	Rests                      uint64             // beginnings and ends of rest
	Top                        []TaskRow          // other tasks, those that used most among them
	Devs                       []TaskRow          // interfaces of others
	NAPI                       [NAPIPollers]NAPIPolls
}

// TaskRow is the time of a process, or of an interface. It is counted from when it got the row,
// where it had BeforeNs: what was another's.
type TaskRow struct {
	Key          uint64 // process id; namespace and index of an interface
	Name         string // as the kernel has it: not to be trusted
	Ns, BeforeNs int64
}

// TaskReader reads who has the CPUs; package bpf has one.
type TaskReader interface {
	Read() (*TaskTimes, error)
}

// since returns what passed between two readings of a CPU.
func (a CPUTasks) since(b CPUTasks) CPUTasks {
	d := CPUTasks{CPU: a.CPU, Rests: a.Rests - b.Rests, Top: rowsSince(b.Top, a.Top), Devs: rowsSince(b.Devs, a.Devs)}
	for c := range TaskClasses {
		for x := range TaskContexts {
			d.Ns[c][x] = a.Ns[c][x] - b.Ns[c][x]
		}
		d.Hard[c], d.Turns[c], d.Stolen[c] = a.Hard[c]-b.Hard[c], a.Turns[c]-b.Turns[c], a.Stolen[c]-b.Stolen[c]
		d.Softs[c], d.Polls[c], d.Hards[c] = a.Softs[c]-b.Softs[c], a.Polls[c]-b.Polls[c], a.Hards[c]-b.Hards[c]
	}
	for i := range d.NAPI {
		d.NAPI[i] = a.NAPI[i].since(b.NAPI[i])
	}
	return d
}

// add adds what passed on the same CPU at another time.
func (t *CPUTasks) add(d *CPUTasks) {
	for c := range TaskClasses {
		for x := range TaskContexts {
			t.Ns[c][x] += d.Ns[c][x]
		}
		t.Hard[c] += d.Hard[c]
		t.Stolen[c] += d.Stolen[c]
		t.Turns[c] += d.Turns[c]
		t.Softs[c] += d.Softs[c]
		t.Polls[c] += d.Polls[c]
		t.Hards[c] += d.Hards[c]
	}
	for i := range t.NAPI {
		t.NAPI[i].add(d.NAPI[i])
	}
	t.Rests += d.Rests
	t.Top, t.Devs = addRows(t.Top, d.Top), addRows(t.Devs, d.Devs)
}

func addRows(all, more []TaskRow) []TaskRow {
	for _, m := range more {
		at := slices.IndexFunc(all, func(r TaskRow) bool { return r.Key == m.Key })
		if at < 0 {
			all = append(all, m)
			continue
		}
		all[at].Ns += m.Ns
	}
	return all
}

// rowsSince leaves out what did not run. Of one that lost its row in between and got another, only
// the latter counts.
func rowsSince(before, after []TaskRow) (out []TaskRow) {
	for _, a := range after {
		from := a.BeforeNs
		for _, b := range before {
			if b.Key == a.Key && b.BeforeNs == a.BeforeNs {
				from = b.Ns
			}
		}
		if a.Ns > from {
			out = append(out, TaskRow{Key: a.Key, Name: a.Name, Ns: a.Ns - from})
		}
	}
	return out
}

// Since returns what passed on each CPU since an earlier reading.
func (t *TaskTimes) Since(earlier *TaskTimes) []CPUTasks {
	var out []CPUTasks
	for _, a := range t.CPUs {
		for _, b := range earlier.CPUs {
			if b.CPU == a.CPU {
				out = append(out, a.since(b))
			}
		}
	}
	return out
}

// WallNs is all time of the CPU.
func (t *CPUTasks) WallNs() (ns int64) {
	for c := range TaskClasses {
		ns += t.all(c)
	}
	return ns
}

func (t *CPUTasks) all(class int) (ns int64) {
	for _, n := range t.Ns[class] {
		ns += n
	}
	return ns
}

// IdleNs is the time in which the CPU did nothing: of the idle task, without softirq and interrupts
// in it.
func (t *CPUTasks) IdleNs() int64 { return t.Ns[tasksIdle][TaskItself] - t.Hard[tasksIdle] }

// ProbeNs is what the program's own runs took of it, at eventNs each, and otherNs for a turn of
// another task: at the beginning and the end of a softirq one each, and one at a poll.
func (t *CPUTasks) ProbeNs(eventNs, otherNs float64) (ns float64) {
	for c := range TaskClasses {
		ns += t.probeNs(c, eventNs)
	}
	return ns + float64(t.Turns[TasksOther])*(otherNs-eventNs) + float64(t.Rests)*eventNs
}

// probeNs is that part of it which is in a class: who is switched to pays for the switch.
func (t *CPUTasks) probeNs(class int, eventNs float64) float64 {
	return float64(t.Turns[class]+2*t.Softs[class]+t.Polls[class]+2*t.Hards[class]) * eventNs
}

// flowNs is what the flow used: its threads, what served it, and softirq that polled its interface
// or a backlog.
func (t *CPUTasks) flowNs() (ns int64) {
	ns = t.Ns[TasksOwn][TaskItself] + t.Ns[TasksServing][TaskItself]
	for c := range TaskClasses {
		ns += t.Ns[c][TaskNetOwn]
	}
	return ns
}

// likelyNs is what the flow used with softirq that may be its: where a backlog has its packets,
// that is all of it.
func (t *CPUTasks) likelyNs() (ns int64) {
	ns = t.flowNs()
	for c := range TaskClasses {
		ns += t.Ns[c][TaskNetUntold]
	}
	return ns
}

// othersNs is what others used: at least, by tasks, without interrupts and stolen time, and by
// softirq of other interfaces; and at most, with softirq and kernel threads of which it is not
// known.
func (t *CPUTasks) othersNs(otherNs float64) (low, high float64) {
	own := t.Ns[TasksOther][TaskItself] - t.Hard[TasksOther] - t.Stolen[TasksOther]
	low = float64(own) - float64(t.Turns[TasksOther])*otherNs
	for c := range TaskClasses {
		low += float64(t.Ns[c][TaskNetOther])
	}
	low = max(low, 0)
	high = low + float64(t.Ns[TasksUntold][TaskItself])
	for c := range TaskClasses {
		high += float64(t.Ns[c][TaskNetUntold] + t.Ns[c][TaskSoft])
	}
	return low, high
}

// addTasks adds who had the measured CPUs.
func (c *Change) addTasks(r *rows, before, after *TaskTimes) {
	if before == nil || after == nil {
		return
	}
	if n := after.Missed - before.Missed; n > 0 {
		c.Warnings = append(c.Warnings,
			fmt.Sprintf("who had the CPUs is not known by tasks: the kernel skipped %d runs of their program", n))
		return
	}
	lost := slices.Sorted(slices.Values(slices.Concat(before.Unread, after.Unread)))
	if lost = slices.Compact(lost); len(lost) > 0 {
		c.Warnings = append(c.Warnings, "who had CPU "+FormatCPUList(lost)+
			" is not known by tasks, for it changed too fast to be read: /proc tells of it")
	}
	c.tasks, c.eventNs, c.otherNs = after.Since(before), after.EventNs, max(after.EventNs, after.OtherNs)
	c.polled = after.Polled
	if c.dev != "" && len(lost) == 0 {
		r.addNAPI(c.tasks, c.CPU.WallS)
	}
	var all CPUTasks
	var wall, idle int64
	for _, t := range c.tasks {
		if c.measures(t.CPU) {
			wall, idle = max(wall, t.WallNs()), idle+t.IdleNs()
			all.add(&t)
		}
	}
	if wall == 0 {
		return
	}
	add := func(name string, ns float64) {
		r.add("tasks_"+name+"_cores", "cores", ns/float64(wall), foreignByTasks, "")
	}
	for i, name := range []string{"own", "serving", "peer", "other", "untold", "waking"} {
		add(name, float64(all.Ns[i+1][TaskItself]))
	}
	for x, name := range []string{"softirq_own", "softirq_foreign", "softirq_untold", "softirq_else"} {
		var ns int64
		for class := range TaskClasses {
			ns += all.Ns[class][x+1]
		}
		add(name, float64(ns))
	}
	add("idle", float64(idle))
	add("probe", all.ProbeNs(c.eventNs, c.otherNs))
	r.add("tasks_probe_event_ns", "ns", c.eventNs, foreignByTasks, "")
	r.add("tasks_probe_other_ns", "ns", c.otherNs, foreignByTasks, "")
}

// measures reports whether a CPU is a measured one.
func (c *Change) measures(cpu int) bool {
	return slices.ContainsFunc(c.CPU.PerCPU, func(u OneCPUUsage) bool { return u.CPU == cpu })
}

// mostOfFlow is the share of the flow's time that its CPUs have, and leastOfCPU what it uses of
// each, but for the one that it uses most: threads of the process that do something once in a
// while, wherever there is room, make no CPU the flow's.
const (
	mostOfFlow = 0.95
	leastOfCPU = 0.02
)

// leastOwn is what the process' threads must use of a CPU to make it the flow's where all threads
// that move payload are pinned: those that roam only look after the run.
const leastOwn = 0.10

// FlowCPUs finds the measured CPUs that were the flow's, by tasks: the fewest that had most of its
// time. Softirq of which nobody can tell is not its where its interface has polls of its own: a
// database over loopback makes no CPU the flow's. pinned says that its threads are known to keep to
// their CPUs, which then come on top. Nil: nobody tells.
func (c *Change) FlowCPUs(pinned bool) (cpus []int) {
	type use struct {
		cpu      int
		ns, wall float64
	}
	var own []use
	var all, sum float64
	for _, t := range c.tasks {
		u := use{t.CPU, float64(t.likelyNs()), float64(t.WallNs())}
		if c.polled {
			u.ns = float64(t.flowNs())
		}
		if threads := float64(t.Ns[TasksOwn][TaskItself]); pinned && threads < leastOwn*u.wall {
			u.ns -= threads
		}
		if u.ns > 0 && c.measures(t.CPU) {
			own, all = append(own, u), all+u.ns
		}
	}
	slices.SortStableFunc(own, func(a, b use) int { return cmp.Compare(b.ns, a.ns) })
	for _, u := range own {
		if sum >= mostOfFlow*all || sum > 0 && u.ns < leastOfCPU*u.wall {
			break
		}
		sum += u.ns
		cpus = append(cpus, u.cpu)
	}
	slices.Sort(cpus)
	return cpus
}

// ForeignOn tells what others used of a CPU that is not measured, by tasks: its rows. None: nobody
// tells.
func (c *Change) ForeignOn(cpu int) []measure.Metric {
	var r rows
	if i := slices.IndexFunc(c.tasks, func(t CPUTasks) bool { return t.CPU == cpu }); i >= 0 && !c.measures(cpu) {
		r.foreign([]foreignLoad{c.tasks[i].foreign(c.otherNs, 0)})
	}
	return r.out
}

// Background takes the measured CPUs that are not the flow's for what they are: what others did
// there is not charged to the flow. It returns the rows that say so; none where the flow's CPUs are
// not known, nil: then all measured ones are.
func (c *Change) Background(flow []int) []measure.Metric {
	if len(flow) == 0 {
		return nil
	}
	var r rows
	c.share = map[int]float64{}
	var sum float64
	source := foreignByStat
	for _, f := range c.Foreign {
		u := slices.IndexFunc(c.CPU.PerCPU, func(u OneCPUUsage) bool { return u.CPU == f.CPU && u.BusyCores != nil })
		if f.LowCores == nil || u < 0 {
			continue
		}
		source = f.Source
		if busy := *c.CPU.PerCPU[u].BusyCores; !slices.Contains(flow, f.CPU) {
			if c.tasks != nil && f.Source != foreignByTasks {
				continue // it may be the flow's: it was not read
			}
			c.share[f.CPU] = min(*f.LowCores, busy)
			sum += c.share[f.CPU]
		} else {
			used, by := max(busy-*f.LowCores, 0), statSource
			if i := slices.IndexFunc(c.tasks, func(t CPUTasks) bool { return t.CPU == f.CPU }); i >= 0 {
				used, by = c.tasks[i].usedByFlow(c.eventNs), foreignByTasks
			}
			r.add(measure.MetricFlowCores, "cores", used, by, "", strconv.Itoa(f.CPU))
		}
	}
	if len(r.out) == 0 { // not one of the flow's CPUs is measured
		c.share = nil
		return nil
	}
	r.add(measure.MetricBackground, "cores", sum, source, "")
	return r.out
}

// usedByFlow is what the flow used, without what the probe took of it, and softirq of which nobody
// can tell whose it is, cores.
func (t *CPUTasks) usedByFlow(eventNs float64) float64 {
	ns := float64(t.likelyNs()) - t.probeNs(TasksOwn, eventNs) - t.probeNs(TasksServing, eventNs)
	return max(ns, 0) / float64(t.WallNs())
}

// discharge takes off what others did on CPUs that are not the flow's. It is their tasks' time: of
// the split, user and system.
func (c Change) discharge(f *Figures) {
	if c.share == nil || f.CPUBusyCores == nil {
		return
	}
	var busy, app, sys float64
	for _, u := range c.CPU.PerCPU {
		low := c.share[u.CPU]
		busy += low
		if u.AppCores == nil {
			continue
		}
		if split := *u.AppCores + *u.SysCores; split > 0 {
			part := min(low/split, 1)
			app, sys = app+part**u.AppCores, sys+part**u.SysCores
		}
	}
	f.CPUBusyCores = ptr(max(*f.CPUBusyCores-busy, 0))
	if f.CPUAppCores != nil && f.CPUSysCores != nil {
		f.CPUAppCores, f.CPUSysCores = ptr(max(*f.CPUAppCores-app, 0)), ptr(max(*f.CPUSysCores-sys, 0))
	}
}

// TaskMetrics describe who had the measured CPUs.
var TaskMetrics = []measure.MetricDoc{
	{Names: "tasks_own_cores tasks_serving_cores tasks_peer_cores tasks_other_cores tasks_untold_cores " +
		"tasks_waking_cores",
		Units: "cores", Source: "eBPF sched_switch",
		Meaning: "tasks on the measured CPUs: this process' threads (io_uring's workers are " +
			"among them), kernel threads that serve the flow (ksoftirqd, NAPI threads of its " +
			"interface, workers at work that it queued), other processes of zcbench on this machine, " +
			"all others, kernel threads of which nobody can tell whom they serve, and the idle task " +
			"while its CPU does not rest; without softirq on top of them"},
	{Names: "tasks_softirq_own_cores tasks_softirq_foreign_cores tasks_softirq_untold_cores " +
		"tasks_softirq_else_cores",
		Units: "cores", Source: "eBPF sched_switch",
		Meaning: "softirq: of the network, which polled the flow's interface, another one, or of " +
			"which it cannot be told (a backlog, loopback); and timers, RCU and so on"},
	{Names: "tasks_idle_cores",
		Units: "cores", Source: "eBPF sched_switch",
		Meaning: "idle, without softirq and interrupts in it"},
	{Names: "tasks_probe_cores tasks_probe_event_ns tasks_probe_other_ns",
		Units: "cores ns ns", Source: "eBPF sched_switch",
		Meaning: "what this program took itself on the measured CPUs: its runs, by what one took, " +
			"and what those at a turn of another task took, " +
			"when it was loaded, with caches warm and without the kernel's call of it"},
}
