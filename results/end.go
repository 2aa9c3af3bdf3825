// SPDX-License-Identifier: MIT

package results

import "strings"

// Roles are those of the two ends of a flow, in the order of their rows.
var Roles = [2]Role{RoleSUT, RoleTG}

// Label returns what reasons and warnings call an end: SUT or TG.
func (r Role) Label() string { return strings.ToUpper(string(r)) }

// MHz returns the frequency of the flow's CPUs in the window or, if that is not known, of all
// measured CPUs at its end; nil: not known.
func (h *Host) MHz() *float64 {
	if h.FlowMHz != nil {
		return h.FlowMHz
	}
	return h.CPUMHz
}

// Host returns one end's half of the run.
func (r *Record) Host(role Role) *Host {
	if role == RoleTG {
		return &r.TG
	}
	return &r.SUT
}
