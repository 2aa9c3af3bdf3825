// SPDX-License-Identifier: MIT

package counter

import (
	"fmt"

	"github.com/zcbench/zcbench/machine/measure"
)

// defaultForeignThreshold is the foreign load, in cores, from which a measured
// CPU counts as shared: 2 % of it.
const defaultForeignThreshold = 0.02

// foreignLoad is how much of one CPU went to work that is not the benchmark's.
//
// Softirq time makes it a range. Without CONFIG_IRQ_TIME_ACCOUNTING the softirq
// column is tick-sampled, and a softirq that interrupted a benchmark thread is
// already in that thread's clock, while one that ran from idle or in ksoftirqd
// is not. Which was which is not recorded. So:
//
//	HighCores = busy - own threads              no softirq was outside of them
//	LowCores  = HighCores - softirq - stolen    all of it was
//
// and the truth lies between, give or take UncertaintyCores. The error of the
// range is thus at most softirq + stolen of that CPU; both ends meet on a CPU
// that takes no interrupts. The benchmark's own threads that are not pinned may
// have run here too, which lowers LowCores by as much as they used. So does
// what the idle task does itself when a benchmark thread waits and wakes: it is
// busy time in nobody's clock (2.6 us a time in a virtual machine, measured; 5
// us are allowed).
type foreignLoad struct {
	CPU                 int
	LowCores, HighCores *float64 // nil: busy was not measured
	UncertaintyCores    float64
	// Quality is "" for none beyond the threshold, else text such as "foreign
	// load 0.23 cores on CPU 1".
	Quality string
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
		out = append(out, foreignOn(c, own[c.CPU], own[-1]+waits[-1]+waits[c.CPU], threshold))
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
	outside := high // an unknown split: all of it can be softirq
	if c.SoftCores != nil {
		outside = *c.SoftCores + *c.StealCores
	}
	low := max(high-outside-perhaps, 0)
	f.LowCores, f.HighCores = &low, &high
	switch {
	case low > threshold+c.UncertaintyCores:
		f.Quality = fmt.Sprintf("foreign load %.2f cores on CPU %d", low, c.CPU)
	case high > threshold+c.UncertaintyCores:
		f.Quality = fmt.Sprintf("possible foreign load %.2f to %.2f cores on CPU %d", low, high, c.CPU)
	}
	return f
}

// ForeignMetrics describe what others used.
var ForeignMetrics = []measure.MetricDoc{
	{Names: "foreign_cpuN_low_cores foreign_cpuN_high_cores",
		Units: "cores", Source: "/proc/stat - CLOCK_THREAD_CPUTIME_ID",
		Meaning: "load of others on a measured CPU, as a range"},
}
