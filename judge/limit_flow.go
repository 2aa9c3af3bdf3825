// SPDX-License-Identifier: MIT

package judge

import (
	"math"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// flowLimit finds what kept one flow from being faster; "" means not known. For the only flow that
// is the run's limit. Each of several flows is judged in the same order, by the evidence of the
// flow's two threads, of their CPUs and their softirq's, of the thread that polls its queue, and of
// its sender's TCP; the link and the pace concern all flows together.
func flowLimit(r *results.Record, n int) plan.LimitedBy {
	if alone(r) {
		return FindLimit(r)
	}
	return limitOfSeveral(r, n)
}

// limitOfSeveral finds the limit of one of several flows by what is known of it alone.
func limitOfSeveral(r *results.Record, n int) plan.LimitedBy {
	if heldByCgroup(r) {
		return plan.ByCgroup // of all flows: how busy their threads were says nothing
	}
	if l := limitBeforeSendersCPU(r, n); l != "" {
		return l
	}
	switch {
	case flowCPUFull(&r.TG, n):
		return plan.BySender
	case pathHeld(r, n):
		return plan.ByPath
	}
	return ""
}

// limitBeforeSendersCPU does the same without the last check: whether a CPU of the sender was full.
func limitBeforeSendersCPU(r *results.Record, n int) plan.LimitedBy {
	rwnd, sndbuf := flowHeldUp(r, n)
	switch {
	case flowFull(&r.TG, n) && rwnd < heldUp:
		return orOneCPU(plan.BySender, r, ends.TG, n)
	case flowFull(&r.SUT, n) || flowCPUFull(&r.SUT, n) || flowPollerFull(&r.SUT, n):
		return orOneCPU(plan.ByReceiver, r, ends.SUT, n)
	case flowCPUFull(&r.TG, n) && forBoth(r, ends.TG, n):
		return plan.ByOneCPU // also where the window was closed meanwhile: the receiver's softirq had no time
	case max(rwnd, sndbuf) >= heldUp && waitsForWrites(r, n, rwnd):
		return plan.ByDisk
	case max(rwnd, sndbuf) >= heldUp:
		return plan.ByWindow
	}
	return ""
}

// agreed returns the limit that all flows with payload have in common; "" if they differ, or one is
// not known.
func agreed(r *results.Record, limit func(*results.Record, int) plan.LimitedBy) plan.LimitedBy {
	if alone(r) {
		return limit(r, 0)
	}
	agreed := plan.LimitedBy("")
	for i := range r.SUT.Flows {
		if b := r.SUT.Flows[i].Bytes; b == nil || *b == 0 {
			continue
		}
		l := limit(r, i)
		if l == "" || agreed != "" && agreed != l {
			return ""
		}
		agreed = l
	}
	return agreed
}

// alone reports whether the run has one flow: the metrics of its hosts' data paths and sockets are
// then that flow's.
func alone(r *results.Record) bool {
	return r.Cell.NFlows() == 1 && len(r.SUT.Flows) <= 1 && len(r.TG.Flows) <= 1
}

// flowFull reports whether a flow's thread ran, or wanted to, all the time, and did not spend some
// of it on polls that brought nothing (of several threads nobody tells which did). Records of older
// versions say so only among the host's metrics, of its only thread.
func flowFull(h *results.Host, n int) bool {
	if n < len(h.Flows) && h.Flows[n].ThreadCores != nil {
		return *h.Flows[n].ThreadCores-h.Spun() >= fullThread
	}
	return len(h.Flows) <= 1 && threadFull(h)
}

// flowHeldUp returns the shares of the window in which a flow's sender waited for the receiver's
// window, and for its own send buffer.
func flowHeldUp(r *results.Record, n int) (rwnd, sndbuf float64) {
	if alone(r) {
		rwnd, sndbuf = heldUpBy(r, "tcp_info_rwnd_limited_us"), heldUpBy(r, "tcp_info_sndbuf_limited_us")
	}
	if n < len(r.TG.Flows) {
		f := &r.TG.Flows[n]
		rwnd, sndbuf = share(f.RwndLimited, rwnd), share(f.SndbufLimited, sndbuf)
	}
	return rwnd, sndbuf
}

// share returns a figure, or instead if it is not known.
func share(v *float64, instead float64) float64 {
	if v == nil || math.IsNaN(*v) {
		return instead
	}
	return *v
}
