// SPDX-License-Identifier: MIT

package results

// heldByCgroups is from which share of the periods, or of the window, on the limits of a control
// group are what kept a run from being faster. A thread that is throttled seems to be full, or
// idle, as the kernel counts it: this is asked first.
const heldByCgroups = .05

// HeldBack is the largest share of the periods of a CPU limit in which it throttled, of all of an
// end's control groups, or of the window in which tasks waited for memory because memory.high was
// met, or in which a thread was held back by a group that is not seen. The words say which limit
// that was; empty: none held the end back, or nobody knows. A share of 1 stands for memory.high
// where nobody counts how long tasks waited.
func (h *Host) HeldBack() (share float64, words string) {
	stall, known, high := 0., false, ""
	for i := range h.Metrics {
		switch m := &h.Metrics[i]; m.Name {
		case MetricThrottled, MetricUnseenLimit:
			if m.Value > share {
				share, words = m.Value, m.Quality
			}
		case MetricMemoryStall:
			stall, known = m.Value, true
		case MetricMemoryHigh:
			if m.Value > 0 && high == "" {
				high = m.Quality
			}
		}
	}
	if !known {
		stall = 1
	}
	if high != "" && stall > share {
		return stall, high
	}
	return share, words
}

// heldByCgroup tells a run of which an end was held back for long.
func (r *Record) heldByCgroup() bool {
	for _, role := range Roles {
		if share, _ := r.Host(role).HeldBack(); share >= heldByCgroups {
			return true
		}
	}
	return false
}
