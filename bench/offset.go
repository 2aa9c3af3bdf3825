// SPDX-License-Identifier: MIT

package bench

import "github.com/zcbench/zcbench/bench/host"

// oneClock tells that both ends have one: they are on one machine, and what their offsets differ by
// is no more than what these are known to.
func (r *Runner) oneClock() bool {
	d := r.SUT.OffsetNs - r.TG.OffsetNs
	return r.SUT.SameMachine(r.TG) && max(d, -d) <= r.SUT.UncertaintyNs+r.TG.UncertaintyNs
}

// offset is how far h's clock is from the controller's. Where two ends have one clock, what their
// offsets differ by is error.
func (r *Runner) offset(h *host.Host) int64 {
	if r.oneClock() {
		return r.SUT.OffsetNs
	}
	return h.OffsetNs
}

// clockUs is how far times may be off that begin at one end and end at the other.
func (r *Runner) clockUs() *float64 {
	if r.oneClock() {
		return new(0.)
	}
	return new(float64(r.SUT.UncertaintyNs+r.TG.UncertaintyNs) / 1e3)
}
