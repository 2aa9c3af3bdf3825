// SPDX-License-Identifier: MIT

package counter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/machine/measure"
)

// defaultForeignThreshold is the foreign load, in cores, from which a measured
// CPU counts as shared: 2 % of it.
const defaultForeignThreshold = 0.02

// foreignLoad is how much of one CPU went to work that is not the benchmark's.
//
// By tasks ([TaskReader]) it is exact: LowCores is other tasks' time and that of softirq which
// polls interfaces of others; HighCores has softirq of which nobody can tell. The probe's own time
// is taken off.
//
// Without them it is busy time less the own threads', and softirq time makes it a wide range.
// Without CONFIG_IRQ_TIME_ACCOUNTING the softirq column is tick-sampled, and a softirq that
// interrupted a benchmark thread is already in that thread's clock, while one that ran from idle or
// in ksoftirqd is not. Which was which is not recorded. So:
//
//	HighCores = busy - own threads              no softirq was outside of them
//	LowCores  = HighCores - softirq - stolen    all of it was
//
// and the truth lies between, give or take UncertaintyCores. The error of the range is thus at most
// softirq + stolen of that CPU; both ends meet on a CPU that takes no interrupts. The benchmark's
// own threads that are not pinned may have run here too, which lowers LowCores by as much as they
// used. So does what the idle task does itself when a benchmark thread waits and wakes: it is busy
// time in nobody's clock (2.6 us a time in a virtual machine, measured; 5 us are allowed). Where
// /proc/schedstat has what tasks ran on the CPU, LowCores is that less the own threads, softirq and
// stolen time: the idle path is not in it.
type foreignLoad struct {
	CPU                 int
	LowCores, HighCores *float64 // nil: busy was not measured
	UncertaintyCores    float64
	// Quality is "" for none beyond the threshold, else text such as "foreign
	// load 0.23 cores on CPU 1".
	Quality string
	Source  string
	Whose   string // who used most, in words; "": not known
}

// idlePathNs is allowed for one wait of a benchmark thread: idle entry and exit.
const idlePathNs = 5000

// foreign compares the busy time of every CPU in usage with what the
// benchmark's threads used there over the same window. A threshold of 0 is
// [defaultForeignThreshold].
//
// Only load that LowCores shows beyond doubt is called foreign; a range that
// reaches past the threshold is called possible. Call it on CPUs that the
// benchmark's threads are pinned to, or that nobody should use.
func foreign(usage CPUUsage, threads []ThreadDelta, threshold float64) []foreignLoad {
	if threshold == 0 {
		threshold = defaultForeignThreshold
	}
	own, waits := map[int]float64{}, map[int]float64{} // cores by CPU; -1 is not pinned
	if usage.WallS > 0 {
		for _, t := range threads {
			own[t.CPU] += float64(t.RunNs) / 1e9 / usage.WallS
			waits[t.CPU] += float64(t.Voluntary) * idlePathNs / 1e9 / usage.WallS
		}
	}
	var out []foreignLoad
	for _, c := range usage.PerCPU {
		f := foreignOn(c, own[c.CPU], own[-1]+waits[-1]+waits[c.CPU], threshold)
		f.Source = foreignByStat
		out = append(out, f)
	}
	return out
}

func foreignOn(c OneCPUUsage, pinned, perhaps, threshold float64) foreignLoad {
	f := foreignLoad{CPU: c.CPU, UncertaintyCores: c.UncertaintyCores}
	if c.BusyCores == nil {
		f.Quality = fmt.Sprintf("foreign load on CPU %d not measured: %s", c.CPU, c.Quality())
		return f
	}
	high := max(*c.BusyCores-pinned, 0)
	low := max(high-c.onTop(high)-perhaps, 0)
	f.LowCores, f.HighCores = &low, &high
	f.doubt(threshold)
	return f
}

// onTop is softirq, interrupts and stolen time of a CPU, ksoftirqd's softirq among them; all of it
// where the split is not known.
func (c *OneCPUUsage) onTop(all float64) float64 {
	if c.SoftCores == nil {
		return all
	}
	return *c.SoftCores + *c.StealCores
}

// doubt fills Quality of a load that is known by a range.
func (f *foreignLoad) doubt(threshold float64) {
	switch low, high := *f.LowCores, *f.HighCores; {
	case low > threshold+f.UncertaintyCores:
		f.Quality = fmt.Sprintf("foreign load %.2f cores on CPU %d", low, f.CPU)
	case high > threshold+f.UncertaintyCores:
		f.Quality = fmt.Sprintf("possible foreign load %.2f to %.2f cores on CPU %d", low, high, f.CPU)
	}
}

// Sources of foreign load, the best one first.
const (
	foreignByTasks     = measure.ByTasks
	foreignBySchedstat = measure.BySchedstat
	foreignByStat      = "/proc/stat - CLOCK_THREAD_CPUTIME_ID"
)

// exactly replaces the ranges by what tasks used, on the CPUs of which that is known.
func exactly(fs []foreignLoad, cpus []CPUTasks, otherNs, threshold float64) []foreignLoad {
	for i := range fs {
		at := slices.IndexFunc(cpus, func(c CPUTasks) bool { return c.CPU == fs[i].CPU })
		if at >= 0 && fs[i].LowCores != nil && cpus[at].WallNs() > 0 {
			fs[i] = cpus[at].foreign(otherNs, threshold)
		}
	}
	return fs
}

// byRun makes the low end of the ranges what tasks ran on a CPU, less the benchmark's threads that
// are pinned there, and those that may be anywhere. The kernel counts it by the wall clock:
// softirq, interrupts and stolen time are in it, which are not in the threads' clocks where it has
// CONFIG_IRQ_TIME_ACCOUNTING or PARAVIRT_TIME_ACCOUNTING, so that they are in doubt here too. A
// turn that began before the window counts in it, if it ends there; but others used no more than
// what was busy.
func byRun(fs []foreignLoad, ran map[int]float64, usage CPUUsage, threads []ThreadDelta, threshold float64) {
	if threshold == 0 {
		threshold = defaultForeignThreshold
	}
	if usage.WallS <= 0 {
		return
	}
	own := map[int]float64{}
	for _, t := range threads {
		own[t.CPU] += float64(t.RunNs) / 1e9 / usage.WallS
	}
	for i := range fs {
		f := &fs[i]
		v, ok := ran[f.CPU]
		at := slices.IndexFunc(usage.PerCPU, func(c OneCPUUsage) bool { return c.CPU == f.CPU })
		if !ok || f.LowCores == nil || at < 0 {
			continue
		}
		f.Source = foreignBySchedstat
		low := min(max(v-own[f.CPU]-own[-1]-usage.PerCPU[at].onTop(v), 0), *f.HighCores)
		f.LowCores, f.Quality = &low, ""
		f.doubt(threshold)
	}
}

// since computes what ran between two readings, cores.
func (s Schedstat) since(before Schedstat, wallS float64) map[int]float64 {
	if wallS <= 0 {
		return nil
	}
	out := map[int]float64{}
	for cpu, ns := range s {
		if b, ok := before[cpu]; ok && ns >= b {
			out[cpu] = float64(ns-b) / 1e9 / wallS
		}
	}
	return out
}

// foreign tells what others used of a CPU.
func (t *CPUTasks) foreign(otherNs, threshold float64) foreignLoad {
	if threshold == 0 {
		threshold = defaultForeignThreshold
	}
	wall := float64(t.WallNs())
	low, high := t.othersNs(otherNs)
	low, high = min(low/wall, 1), min(high/wall, 1)
	f := foreignLoad{CPU: t.CPU, LowCores: &low, HighCores: &high, Source: foreignByTasks}
	if low > threshold {
		f.Whose = t.whose()
		f.Quality = fmt.Sprintf("foreign load %.2f cores on CPU %d", low, t.CPU)
		if f.Whose != "" {
			f.Quality += ": " + f.Whose
		}
	}
	return f
}

// mostNamed is how many of those that used a CPU are named.
const mostNamed = 3

// whose names those that used most of the CPU and at least a tenth of what others used.
func (t *CPUTasks) whose() string {
	type user struct {
		words string
		ns    int64
	}
	var users []user
	for _, r := range t.Top {
		users = append(users, user{fmt.Sprintf("%s (pid %d)", r.Name, r.Key), r.Ns})
	}
	for _, r := range t.Devs {
		users = append(users, user{"softirq of " + r.Name, r.Ns})
	}
	slices.SortStableFunc(users, func(a, b user) int { return cmp.Compare(b.ns, a.ns) })
	low, _ := t.othersNs(0)
	var names []string
	for _, u := range users {
		if len(names) < mostNamed && float64(u.ns) >= low/10 {
			names = append(names, fmt.Sprintf("%s used %.2f", u.words, float64(u.ns)/float64(t.WallNs())))
		}
	}
	return strings.Join(names, ", ")
}

// ForeignMetrics describe what others used.
var ForeignMetrics = []measure.MetricDoc{
	{Names: "foreign_cpuN_low_cores foreign_cpuN_high_cores",
		Units: "cores", Source: "eBPF sched_switch; /proc/schedstat - CLOCK_THREAD_CPUTIME_ID; " +
			"/proc/stat - CLOCK_THREAD_CPUTIME_ID",
		Meaning: "load of others on a measured CPU, and on SMT siblings of the flow's, as a range; " +
			"by eBPF it is others' tasks and softirq of their interfaces, and to that softirq " +
			"and kernel threads of which nobody can tell"},
	{Names: "flow_cpuN_cores",
		Units: "cores", Source: "eBPF sched_switch; /proc/stat",
		Meaning: "of each CPU that is the flow's, which all others' load is background to: what " +
			"its threads, those of the kernel that serve it and softirq used; without eBPF all that is not " +
			"surely others'"},
	{Names: "background_cores",
		Units: "cores", Source: "eBPF sched_switch; /proc/schedstat - CLOCK_THREAD_CPUTIME_ID; " +
			"/proc/stat - CLOCK_THREAD_CPUTIME_ID",
		Meaning: "what others used at least of measured CPUs that are not the flow's: it is in " +
			"cpu_busy_cores of these metrics, and not in the column of that name"},
}
