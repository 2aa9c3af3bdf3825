// SPDX-License-Identifier: MIT

package results

import (
	"slices"
	"strconv"
	"strings"
)

// fullCPUs lists the measured CPUs of an end that were never idle, without those that busy polling
// alone may have filled.
func (h *Host) fullCPUs() (cpus []string) {
	for i := range h.Metrics {
		m := &h.Metrics[i]
		n, ok := strings.CutSuffix(m.Name, "_busy_cores")
		if n, cpu := strings.CutPrefix(n, "cpu"); ok && cpu && n != "" && m.Value >= fullCPU && !h.fullByPolling(n) {
			cpus = append(cpus, n)
		}
	}
	return cpus
}

// cpuFull reports whether one of an end's measured CPUs was never idle.
func (h *Host) cpuFull() bool { return len(h.fullCPUs()) > 0 }

// flowCPUFull reports whether the CPU of a flow's thread, or of its softirq, was never idle.
func (h *Host) flowCPUFull(n int) bool {
	if n >= len(h.Flows) {
		return false
	}
	full := h.fullCPUs()
	return slices.ContainsFunc(h.Flows[n].cpus(),
		func(cpu int) bool { return slices.Contains(full, strconv.Itoa(cpu)) })
}

// cpus lists the CPUs that the flow is known to have used.
func (f *Flow) cpus() (cpus []int) {
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
func (r *Record) anyCPU(h *Host) bool {
	return r.alone() || !slices.ContainsFunc(h.Flows, func(f Flow) bool { return len(f.cpus()) > 0 })
}
