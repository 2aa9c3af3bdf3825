// SPDX-License-Identifier: MIT

package endpoint

import (
	"slices"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// helpersOf lists the kernel threads that work for a path, unless it could not be attached.
func helpersOf(path stream.Receiver, err error) []int {
	if h, ok := path.(stream.Helped); ok && err == nil {
		return h.Threads()
	}
	return nil
}

// countHelpers counts such threads like those that poll, where threads do: what both use is what
// the path's packets cost. Where softirq polls, its time is nobody's, and theirs alone says
// nothing.
func (r *run) countHelpers() {
	if err := r.tasks.Serve(r.helpers); err != nil {
		r.warnings = append(r.warnings, err.Error())
	}
	if len(r.helpers) == 0 || len(r.polledBy.PIDs) == 0 {
		return
	}
	r.pollers.Close()
	r.pollers = counter.OpenPollers(counter.FS{}, slices.Concat(r.polledBy.PIDs, r.helpers), r.end.spec.MeasureCPUs)
}

// helped adds what the helpers used, where it was counted.
func (r *run) helped(h *results.Host, p *counter.Polled) {
	if p == nil || len(r.helpers) == 0 {
		return
	}
	cores := 0.0
	for _, pid := range r.helpers {
		v, ok := p.Of[pid]
		if !ok {
			return
		}
		cores += v
	}
	i := slices.IndexFunc(h.Metrics, func(m measure.Metric) bool { return m.Name == "poller_cores" })
	if i < 0 {
		return
	}
	// they were counted together
	h.Metrics = append(h.Metrics, measure.Metric{Name: measure.MetricHelperCores, Unit: "cores", Value: cores,
		Source: h.Metrics[i].Source})
}
