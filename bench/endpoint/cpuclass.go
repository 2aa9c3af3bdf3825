// SPDX-License-Identifier: MIT

package endpoint

import (
	"slices"
	"strconv"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/cpuclass"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/results"
)

// aboutCPUs adds what the CPUs of the flow are, and how busy those were that share a core with one
// of them.
func (r *run) aboutCPUs(h *results.Host, change counter.Change) {
	t, cpus := place.ReadTopology(), r.flowCPUs(change)
	if classed := cpus; t.Classes != nil {
		if classed == nil { // of a thread that was anywhere
			classed = r.anyCPU()
		}
		h.Env.CPUClass = cpuclass.Of(t.Classes, classed)
	}
	if siblings := siblingsOf(t, cpus); siblings != nil {
		h.Metrics = append(h.Metrics, busySiblings(counter.Usage(r.from.host.CPU, r.to.host.CPU, siblings))...)
		for _, cpu := range siblings {
			h.Metrics = append(h.Metrics, change.ForeignOn(cpu)...)
		}
	}
}

// anyCPU returns the CPUs that a thread of this process may run on.
func (r *run) anyCPU() []int {
	a, err := place.AllowedCPUs()
	if err != nil {
		return nil
	}
	return a.Own
}

// siblingsOf finds the threads of the same cores that are not among some CPUs.
func siblingsOf(t place.Topology, cpus []int) (out []int) {
	for _, core := range t.Cores {
		if !slices.ContainsFunc(core, func(c int) bool { return slices.Contains(cpus, c) }) {
			continue
		}
		for _, c := range core {
			if !slices.Contains(cpus, c) {
				out = append(out, c)
			}
		}
	}
	slices.Sort(out)
	return out
}

// busySiblings builds the figures of siblings. One that is offline has none.
func busySiblings(u counter.CPUUsage) (ms []measure.Metric) {
	for _, c := range u.PerCPU {
		if c.BusyCores != nil {
			cpu := []string{strconv.Itoa(c.CPU)}
			ms = append(ms, measure.Metric{Name: measure.MetricSiblingBusy, Of: cpu, Unit: "cores", Value: *c.BusyCores,
				Source: "/proc/stat", Quality: c.Quality()},
				measure.Metric{Name: measure.MetricSiblingUncertainty, Of: cpu, Unit: "cores",
					Value: c.UncertaintyCores, Source: "/proc/stat"})
		}
	}
	return ms
}
