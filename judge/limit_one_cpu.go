// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// othersWork is from which share of a full CPU on the softirq of the other end makes it a CPU that
// works for both: with less, it would hardly have been faster without.
const othersWork = 0.1

// fullFor lists the CPUs of a flow's end that had no time left: that of its thread, if the thread
// is full, and those of its thread and softirq that were never idle. own reports whether what is
// full cannot be told to be one of them: a thread that is not pinned, or the thread that polls the
// flow's queue.
func fullFor(r *results.Record, role ends.Role, n int) (full []int, own bool) {
	h := r.Host(role)
	if n >= len(h.Flows) {
		return nil, true
	}
	f := &h.Flows[n]
	own = flowPollerFull(h, n)
	if flowFull(h, n) {
		if f.CPU == nil {
			return nil, true
		}
		full = append(full, *f.CPU)
	}
	never := fullCPUs(h)
	for _, cpu := range cpus(f) {
		if slices.Contains(never, strconv.Itoa(cpu)) {
			full = append(full, cpu)
		}
	}
	return full, own
}

// forBoth reports whether all that was full at a flow's end worked for the other end, too.
func forBoth(r *results.Record, role ends.Role, n int) bool {
	full, own := fullFor(r, role, n)
	return !own && len(full) > 0 &&
		!slices.ContainsFunc(full, func(cpu int) bool { return !alsoFor(r, other(role), cpu) })
}

// orOneCPU returns a limit that a full thread or CPU of an end shows, or that what was full worked
// for both ends.
func orOneCPU(l plan.LimitedBy, r *results.Record, role ends.Role, n int) plan.LimitedBy {
	if forBoth(r, role, n) {
		return plan.ByOneCPU
	}
	return l
}

// other returns the other end.
func other(role ends.Role) ends.Role {
	if role == ends.SUT {
		return ends.TG
	}
	return ends.SUT
}

// alsoFor reports whether a CPU worked for an end, of a run on one machine: a thread of its flows
// was pinned to it, or it had a good part of their softirq.
func alsoFor(r *results.Record, role ends.Role, cpu int) bool {
	if !slices.Contains(r.Flags, results.FlagSharedMachine) {
		return false
	}
	flows := r.Host(role).Flows
	if slices.ContainsFunc(flows, func(f results.Flow) bool { return f.CPU != nil && *f.CPU == cpu }) {
		return true
	}
	return slices.ContainsFunc(flows, func(f results.Flow) bool { return slices.Contains(softirqs(&f), cpu) }) &&
		softirqCounts(r, cpu)
}

// softirqs lists the CPUs that had a good part of a flow's softirq, as far as it is known.
func softirqs(f *results.Flow) []int {
	if f.SoftirqCPUs == nil && f.SoftirqCPU != nil {
		return []int{*f.SoftirqCPU}
	}
	return f.SoftirqCPUs
}

// softirqCounts reports whether softirq was a good part of what a CPU did. /proc/stat does not say
// whose softirq it was, and a kernel thread that polls has its time elsewhere: who does not know
// takes it to be.
func softirqCounts(r *results.Record, cpu int) bool {
	for _, role := range ends.Roles {
		h := r.Host(role)
		if slices.ContainsFunc(h.Flows, func(f results.Flow) bool { return f.PollerCores != nil }) {
			return true
		}
		if v := h.Value(fmt.Sprintf("cpu%d_soft_cores", cpu)); !math.IsNaN(v) {
			return v >= othersWork
		}
	}
	return true
}
