// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// What a quiet machine has less of, on each of the measured CPUs: ns per packet repeat there.
const (
	quietSteal   = .005
	quietForeign = .01
)

// quiet flags a run of packets on CPUs that were not only the flow's: a packet costs some tens of
// nanoseconds, which a hypervisor or other work changes by more than runs differ otherwise.
func quiet(r *results.Record) {
	if r.SUT.PacketsPerS == nil {
		return
	}
	for _, role := range ends.Roles {
		h := r.Host(role)
		for _, m := range h.Metrics {
			cpu := strings.Join(m.Of, "")
			switch {
			case stolenFrom(m.Name) != "" && m.Value >= quietSteal+oneTick(h):
				r.Mark(results.FlagNotQuiet,
					fmt.Sprintf("%s: not quiet: %.2f %% of CPU %s was stolen by the hypervisor (quiet: below %g %%)",
						role.Label(), 100*m.Value, stolenFrom(m.Name), 100*quietSteal))
			case m.Name == foreignOf(h, &m) && concerns(h, cpu) && m.Value >= quietForeign+inDoubt(h, &m):
				r.Mark(results.FlagNotQuiet,
					fmt.Sprintf("%s: not quiet: others kept CPU %s busy for %.2f %% of the time (quiet: below %g %%)",
						role.Label(), cpu, 100*m.Value, 100*quietForeign))
			}
		}
	}
}

// stolenFrom returns the CPU whose stolen time a metric is; "" for other metrics, and for the sum.
func stolenFrom(name string) string {
	cpu, ok := strings.CutPrefix(name, "cpu")
	cpu, of := strings.CutSuffix(cpu, "_steal_cores")
	if !ok || !of || cpu == "" || strings.Trim(cpu, "0123456789") != "" {
		return ""
	}
	return cpu
}

// oneTick returns by how much stolen time may seem more than it was: the kernel counts it in ticks,
// and one that ends in a window may have begun long before. In a second, one tick is twice what a
// quiet machine has.
func oneTick(h *results.Host) float64 {
	for _, m := range h.Metrics {
		if m.Name == "cpu_window_s" && m.Value > 0 {
			return 1 / m.Value / ticksPerSecond
		}
	}
	return 0
}

// foreignOf picks the metric that says most about others' load. If NAPI threads receive, all of the
// flow's time is some thread's, and the rest of the busy time is others'. Otherwise softirqs of the
// flow may be in that rest, too; what is counted by tasks is told apart from them.
func foreignOf(h *results.Host, m *measure.Metric) string {
	if m.Source != measure.ByTasks && byThreads(h) {
		return measure.MetricForeignMost
	}
	return measure.MetricForeignCores
}

// scattered is how much of the threads' time, cores, may be on CPUs that nobody knows.
const scattered = .001

// byThreads reports whether threads received and it is known how much each measured CPU gave them.
// Without perf that is known only of pinned threads, which no metric tells: a thread's time would
// be taken for that of others.
func byThreads(h *results.Host) bool {
	if h.CPUPollerCores == nil {
		return false
	}
	left := *h.CPUPollerCores
	for _, m := range h.Metrics {
		if m.Name == measure.MetricPollerCores || m.Name == measure.MetricPollerOutside {
			left -= m.Value
		}
	}
	return left < scattered
}

// inDoubt returns by how much that may seem more than it was: nothing for a CPU that always worked.
func inDoubt(h *results.Host, m *measure.Metric) float64 {
	if m.Source == measure.ByTasks || !byThreads(h) {
		return unknown(h, m)
	}
	cpu := strings.Join(m.Of, "")
	i := slices.IndexFunc(h.Metrics, func(m measure.Metric) bool { return m.Name == "cpu"+cpu+"_busy_cores" })
	j := slices.IndexFunc(h.Metrics, func(m measure.Metric) bool { return m.Name == "cpu"+cpu+"_uncertainty_cores" })
	if i < 0 || j < 0 || h.Metrics[i].Value == 1 {
		return 0
	}
	return h.Metrics[j].Value
}
