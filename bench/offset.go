// SPDX-License-Identifier: MIT

package bench

import (
	"context"

	"github.com/zcbench/zcbench/bench/host"
)

// oneClock reports whether both ends share a clock: they are on one machine, and their offsets
// differ by no more than their uncertainty.
func (r *Runner) oneClock() bool {
	d := r.SUT.OffsetNs - r.TG.OffsetNs
	return r.SUT.SameMachine(r.TG) && max(d, -d) <= r.SUT.UncertaintyNs+r.TG.UncertaintyNs
}

// offset returns how far h's clock is from the controller's. Where two ends share a clock, any
// difference of their offsets is an error.
func (r *Runner) offset(h *host.Host) int64 {
	if r.oneClock() {
		return r.SUT.OffsetNs
	}
	return h.OffsetNs
}

// timesClocks finds how far the delivery times of a run that has just ended may be off. What was
// known of the clocks before it is not enough: they part meanwhile. Where the run is called off
// now, it stays unknown.
func (r *Runner) timesClocks(ctx context.Context, out *outcome) {
	if out.sut.Host.Delivery == nil || out.sutErr != nil || out.tgErr != nil {
		return
	}
	var sut, tg host.Drift
	if !r.oneClock() {
		var sutErr, tgErr error
		if sut, sutErr = r.SUT.Drift(ctx); sutErr == nil {
			tg, tgErr = r.TG.Drift(ctx)
		}
		if sutErr != nil || tgErr != nil {
			if ctx.Err() == nil {
				out.sutErr, out.tgErr = sutErr, tgErr
			}
			return
		}
	}
	out.clockUs = new(r.clockUs(sut, tg))
}

// clockUs bounds the error of times that begin at one end and end at the other: by the uncertainty
// of both clocks, and by what they moved against each other. What both moved against the
// controller's is in no time.
func (r *Runner) clockUs(sut, tg host.Drift) float64 {
	if r.oneClock() {
		return 0
	}
	moved := sut.MovedNs - tg.MovedNs
	return float64(sut.WithinNs+tg.WithinNs+max(moved, -moved)) / 1e3
}
