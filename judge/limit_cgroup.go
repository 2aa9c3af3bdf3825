// SPDX-License-Identifier: MIT

package judge

import (
	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// heldByCgroups is from which share of the periods, or of the window, on the limits of a control
// group are what kept a run from being faster. A thread that is throttled seems to be full, or
// idle, as the kernel counts it: this is asked first.
const heldByCgroups = .05

// HeldBack returns how much cgroups held an end back, and which limit did. The share is the largest
// of: the periods of a CPU limit in which any of the end's cgroups throttled; the part of the
// window in which tasks waited for memory because memory.high was met; that in which a cgroup that
// is not seen held a thread back. It is 1 for memory.high if nobody counts how long tasks waited.
// Empty words: none held the end back, or nobody knows.
func HeldBack(h *results.Host) (share float64, words string) {
	stall, known, high := 0., false, ""
	for i := range h.Metrics {
		switch m := &h.Metrics[i]; m.Name {
		case measure.MetricThrottled, measure.MetricUnseenLimit:
			if m.Value > share {
				share, words = m.Value, m.Quality
			}
		case measure.MetricMemoryStall:
			stall, known = m.Value, true
		case measure.MetricMemoryHigh:
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

// heldByCgroup reports whether a cgroup held an end of the run back for long.
func heldByCgroup(r *results.Record) bool {
	for _, role := range ends.Roles {
		if share, _ := HeldBack(r.Host(role)); share >= heldByCgroups {
			return true
		}
	}
	return false
}
