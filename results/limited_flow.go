// SPDX-License-Identifier: MIT

package results

import (
	"math"

	"github.com/zcbench/zcbench/plan"
)

// FlowLimit finds what kept one flow from being faster; "" means not known. For the only flow that
// is the run's limit. Each of several flows is judged in the same order, by the evidence of the
// flow's two threads, of their CPUs and their softirq's, of the thread that polls its queue, and of
// its sender's TCP; the link and the pace concern all flows together.
func (r *Record) FlowLimit(n int) plan.LimitedBy {
	if r.alone() {
		return r.FindLimit()
	}
	return r.limitOfSeveral(n)
}

// limitOfSeveral finds the limit of one of several flows by what is known of it alone.
func (r *Record) limitOfSeveral(n int) plan.LimitedBy {
	if r.heldByCgroup() {
		return plan.ByCgroup // of all flows: how busy their threads were says nothing
	}
	if l := r.limitBeforeSendersCPU(n); l != "" {
		return l
	}
	if r.TG.flowCPUFull(n) {
		return plan.BySender
	}
	return ""
}

// limitBeforeSendersCPU does the same without the last check: whether a CPU of the sender was full.
func (r *Record) limitBeforeSendersCPU(n int) plan.LimitedBy {
	rwnd, sndbuf := r.flowHeldUp(n)
	switch {
	case r.TG.flowFull(n) && rwnd < heldUp:
		return plan.BySender
	case r.SUT.flowFull(n) || r.SUT.flowCPUFull(n) || r.SUT.flowPollerFull(n):
		return plan.ByReceiver
	case max(rwnd, sndbuf) >= heldUp:
		return plan.ByWindow
	}
	return ""
}

// agreed returns the limit that all flows with payload have in common; "" if they differ, or one is
// not known.
func (r *Record) agreed(limit func(n int) plan.LimitedBy) plan.LimitedBy {
	if r.alone() {
		return limit(0)
	}
	agreed := plan.LimitedBy("")
	for i := range r.SUT.Flows {
		if b := r.SUT.Flows[i].Bytes; b == nil || *b == 0 {
			continue
		}
		l := limit(i)
		if l == "" || agreed != "" && agreed != l {
			return ""
		}
		agreed = l
	}
	return agreed
}

// alone reports whether the run has one flow: the metrics of its hosts' data paths and sockets are
// then that flow's.
func (r *Record) alone() bool {
	return r.Cell.NFlows() == 1 && len(r.SUT.Flows) <= 1 && len(r.TG.Flows) <= 1
}

// flowFull reports whether a flow's thread ran, or wanted to, all the time. Records of older
// versions say so only among the host's metrics, of its only thread.
func (h *Host) flowFull(n int) bool {
	if n < len(h.Flows) && h.Flows[n].ThreadCores != nil {
		return *h.Flows[n].ThreadCores >= fullThread
	}
	return len(h.Flows) <= 1 && h.threadFull()
}

// flowHeldUp returns the shares of the window in which a flow's sender waited for the receiver's
// window, and for its own send buffer.
func (r *Record) flowHeldUp(n int) (rwnd, sndbuf float64) {
	if r.alone() {
		rwnd, sndbuf = r.heldUpBy("tcp_info_rwnd_limited_us"), r.heldUpBy("tcp_info_sndbuf_limited_us")
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
