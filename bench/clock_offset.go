// SPDX-License-Identifier: MIT

package bench

import (
	"context"

	"github.com/zcbench/zcbench/bench/host"
)

// oneClock reports whether both ends share a clock: they are on one machine, and their offsets
// differ by no more than their uncertainty.
func oneClock(sut, tg *host.Host) bool {
	d := sut.OffsetNs - tg.OffsetNs
	return sut.SameMachine(tg) && max(d, -d) <= sut.UncertaintyNs+tg.UncertaintyNs
}

// clockOffset returns how far the clock of h, one of two ends, is from the controller's. Where two
// ends share a clock, any difference of their offsets is an error.
func clockOffset(h, sut, tg *host.Host) int64 {
	if oneClock(sut, tg) {
		return sut.OffsetNs
	}
	return h.OffsetNs
}

// timeClocks finds how far the delivery times of a run that has just ended may be off. What was
// known of the clocks before it is not enough: they part meanwhile. Where the run is called off
// now, it stays unknown.
func (out *outcome) timeClocks(ctx context.Context, sut, tg *host.Host) {
	if out.sut.Host.Delivery == nil || out.sutErr != nil || out.tgErr != nil {
		return
	}
	var bySUT, byTG host.Drift
	if !oneClock(sut, tg) {
		var sutErr, tgErr error
		if bySUT, sutErr = sut.Drift(ctx); sutErr == nil {
			byTG, tgErr = tg.Drift(ctx)
		}
		if sutErr != nil || tgErr != nil {
			if ctx.Err() == nil {
				out.sutErr, out.tgErr = sutErr, tgErr
			}
			return
		}
	}
	out.clockUs = new(clockUs(oneClock(sut, tg), bySUT, byTG))
}

// clockUs bounds the error of times that begin at one end and end at the other: by the uncertainty
// of both clocks, and by what they moved against each other. What both moved against the
// controller's is in no time.
func clockUs(one bool, sut, tg host.Drift) float64 {
	if one {
		return 0
	}
	moved := sut.MovedNs - tg.MovedNs
	return float64(sut.WithinNs+tg.WithinNs+max(moved, -moved)) / 1e3
}
