// SPDX-License-Identifier: MIT

package endpoint

import (
	"slices"

	"github.com/zcbench/zcbench/machine/counter"
)

// flowCPUs lists the CPUs that the flow needs: of its thread, and of its softirq, which a layout
// names; and where it ran, by tasks. Where nobody tells that, those are its that processed the
// host's packets, and nil is that a thread that is not pinned was anywhere.
func (r *run) flowCPUs(c counter.Change) (cpus []int) {
	pinned := !slices.ContainsFunc(r.end.flows, func(f *flow) bool { return f.CPU < 0 })
	counted := c.FlowCPUs(pinned)
	var softirqs []int
	for i, f := range r.end.spec.Flows {
		cpu := r.end.flows[i].CPU
		if cpu < 0 {
			return counted
		}
		if cpus = append(cpus, cpu); f.SoftirqCPU != nil {
			softirqs = append(softirqs, *f.SoftirqCPU)
		}
	}
	if cpus = append(cpus, counted...); len(softirqs) == 0 && len(counted) == 0 {
		softirqs, _ = counter.ParseCPUList(c.NetRXCPUs)
	}
	// Of another end on the same machine, which is measured for itself, they are not.
	if own := r.end.spec.MeasureCPUs; len(own) > 0 {
		softirqs = slices.DeleteFunc(softirqs, func(n int) bool { return !slices.Contains(own, n) })
	}
	return slices.Compact(slices.Sorted(slices.Values(append(cpus, softirqs...))))
}
