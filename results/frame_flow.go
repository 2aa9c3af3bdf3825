// SPDX-License-Identifier: MIT

package results

import (
	"math"
	"slices"

	"github.com/zcbench/zcbench/machine/measure"
)

// HasHelpers reports whether the helper threads were counted. The flag says so if metrics were not
// read.
func (r *Record) HasHelpers() bool {
	return !math.IsNaN(r.SUT.Value(measure.MetricHelperCores)) || slices.Contains(r.Flags, FlagHelpers)
}

// OwnCores returns the CPU time, in cores, of the threads that received in the window: NAPI's and,
// if read is set, the data paths'. It leaves out what others did on the same CPUs. Nil: softirq,
// which is no thread's, received, or it was not measured.
func (h *Host) OwnCores(read bool) *float64 {
	if h.CPUPollerCores == nil {
		return nil
	}
	own := *h.CPUPollerCores
	if !read {
		return &own
	}
	for i := range h.Flows { // not ThreadCores, in which a thread's waits for its CPU are, too
		s := h.Flows[i].CPUS
		if s == nil || h.DurationS == nil || !(*h.DurationS > 0) {
			return nil
		}
		own += *s / *h.DurationS
	}
	return &own
}
