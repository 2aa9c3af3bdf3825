// SPDX-License-Identifier: MIT

package results

import "github.com/zcbench/zcbench/internal/ends"

// MHz returns the frequency of the flow's CPUs in the window or, if that is not known, of all
// measured CPUs at its end; nil: not known.
func (h *Host) MHz() *float64 {
	if h.FlowMHz != nil {
		return h.FlowMHz
	}
	return h.CPUMHz
}

// Host returns one end's half of the run.
func (r *Record) Host(role ends.Role) *Host {
	if role == ends.TG {
		return &r.TG
	}
	return &r.SUT
}
