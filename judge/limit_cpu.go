// SPDX-License-Identifier: MIT

package judge

import (
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/results"
)

// fullCPUs lists the measured CPUs of an end that were never idle, without those that busy polling
// alone may have filled, and those that were only others'.
func fullCPUs(h *results.Host) (cpus []string) {
	flow := flowsCPUs(h)
	for i := range h.Metrics {
		m := &h.Metrics[i]
		if n := busyCPU(m.Name); n != "" && m.Value >= fullCPU && !fullByPolling(h, n) &&
			(len(flow) == 0 || slices.Contains(flow, n)) {
			cpus = append(cpus, n)
		}
	}
	return cpus
}

// busyCPU returns of which CPU a metric says how busy it was; "": of none.
func busyCPU(metric string) string {
	n, ok := strings.CutSuffix(metric, "_busy_cores")
	if n, cpu := strings.CutPrefix(n, "cpu"); ok && cpu {
		return n
	}
	return ""
}

// cpuFull reports whether one of an end's measured CPUs was never idle.
func cpuFull(h *results.Host) bool { return len(fullCPUs(h)) > 0 }

// flowCPUFull reports whether the CPU of a flow's thread, or of its softirq, was never idle.
func flowCPUFull(h *results.Host, n int) bool {
	if n >= len(h.Flows) {
		return false
	}
	full := fullCPUs(h)
	return slices.ContainsFunc(cpus(&h.Flows[n]),
		func(cpu int) bool { return slices.Contains(full, strconv.Itoa(cpu)) })
}

// cpus lists the CPUs that the flow is known to have used.
func cpus(f *results.Flow) (cpus []int) {
	for _, p := range []*int{f.CPU, f.SoftirqCPU} {
		if p != nil {
			cpus = append(cpus, *p)
		}
	}
	return cpus
}

// anyCPU reports whether any full CPU of an end speaks for the sum: there is one flow, or none says
// which CPUs it used. Otherwise each flow is judged by its own CPUs: a pinned thread without time
// left fills its CPU, while the other flows may have had all the time they wanted.
func anyCPU(r *results.Record, h *results.Host) bool {
	return alone(r) || !slices.ContainsFunc(h.Flows, func(f results.Flow) bool { return len(cpus(&f)) > 0 })
}
