// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// foreign: nobody else used a CPU of the flow, or one that shares a core with such a one, beyond
// doubt. A run of which that is not known is flagged by its ends, and counts unless the gate was
// asked for.
func foreign(g plan.Gates, r *results.Record) *failure {
	if g.ForeignCores == nil {
		return nil
	}
	for _, flag := range []string{results.FlagCPUMissing, results.FlagForeignUnknown} {
		if g.Asks("foreign_cores") && slices.Contains(r.Flags, flag) {
			return &failure{"foreign_cores", "it is not known whether others used the measured CPUs (" + flag +
				"; the warnings say why)",
				"measure where CPU time can be read: docs/sources.md; or leave gates.foreign_cores out: then " +
					"such a run counts, and is flagged"}
		}
	}
	for _, role := range ends.Roles {
		h := r.Host(role)
		for _, m := range h.Metrics {
			cpu := strings.Join(m.Of, "")
			if m.Name != measure.MetricForeignCores || !concerns(h, cpu) {
				continue
			}
			if m.Value > *g.ForeignCores+unknown(h, &m) {
				return &failure{"foreign_cores", fmt.Sprintf("%s: foreign load %.2f cores on CPU %s (limit %g)%s",
					role.Label(), m.Value, cpu, *g.ForeignCores, whose(&m)),
					"end other work, or keep it off that CPU (isolcpus, cpusets); or allow more with " +
						"gates.foreign_cores"}
			}
		}
	}
	return nil
}

// concerns reports whether what others do on a CPU concerns the flow: it is one of the flow's CPUs,
// or the other thread of the core of one. All other CPUs are background. Where it is not known
// which are the flow's, all measured ones are.
func concerns(h *results.Host, cpu string) bool {
	flow := flowsCPUs(h)
	if len(flow) == 0 || slices.Contains(flow, cpu) {
		return true
	}
	return slices.ContainsFunc(h.Metrics, func(m measure.Metric) bool {
		return m.Name == measure.MetricSiblingBusy && strings.Join(m.Of, "") == cpu
	})
}

// flowsCPUs lists the CPUs that the end knows to be the flow's.
func flowsCPUs(h *results.Host) (cpus []string) {
	for i := range h.Metrics {
		if m := &h.Metrics[i]; m.Name == measure.MetricFlowCores {
			cpus = append(cpus, strings.Join(m.Of, ""))
		}
	}
	return cpus
}

// whose names the task that used most of it, where the end knows that: its own words say who all
// did after the colon. Numbers are left out, so that what is the same task's in many runs is said
// once.
func whose(m *measure.Metric) string {
	_, who, ok := strings.Cut(m.Quality, ": ")
	name, _, named := strings.Cut(who, " (pid ")
	if !ok || !named || m.Source != measure.ByTasks {
		return ""
	}
	return ": most of it " + plaintext.Line(name)
}

// ticksPerSecond are the fewest by which the kernel may sample the columns (CONFIG_HZ).
const ticksPerSecond = 100

// unknown returns by how much foreign load on a CPU may seem more than it was: what rounding leaves
// open of the busy time, and three standard deviations of the softirq share, which is sampled in
// busy ticks. In 10 s that is little, in a third of a second a tenth of a core and more. (Agresti
// and Coull: 2 of 4 more ticks, so that a share of none is in doubt too.) By eBPF
// tasks are counted in ns, and no column is asked.
func unknown(h *results.Host, m *measure.Metric) float64 {
	if m.Source == measure.ByTasks {
		return 0
	}
	cpu := strings.Join(m.Of, "")
	value := func(name string) float64 {
		if i := slices.IndexFunc(h.Metrics, func(m measure.Metric) bool { return m.Name == name }); i >= 0 {
			return h.Metrics[i].Value
		}
		return 0
	}
	busy, soft := value("cpu"+cpu+"_busy_cores"), value("cpu"+cpu+"_soft_cores")
	ticks := busy * value("cpu_window_s") * ticksPerSecond
	rounding := value("cpu" + cpu + "_uncertainty_cores")
	if busy <= 0 || ticks < 1 {
		return rounding
	}
	n := ticks + 4
	share := (min(max(soft/busy, 0), 1)*ticks + 2) / n
	return rounding + 3*busy*math.Sqrt(share*(1-share)/n)
}
