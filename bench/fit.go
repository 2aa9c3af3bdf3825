// SPDX-License-Identifier: MIT

package bench

import (
	"time"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
)

// A plan that fits its windows takes no longer than DemoTime on a machine
// that is not slow, as long as no window falls below minDemoWindow.
const (
	demoTime      = 75 * time.Second
	maxDemoWindow = 800 * time.Millisecond
	minDemoWindow = 250 * time.Millisecond
	// demoOverhead is what a run takes beside its window: opening, ramps, closing.
	demoOverhead = 450 * time.Millisecond
)

// fit sets the windows of a plan; window 0 lets the number of runs decide.
func (o *Options) fit(window time.Duration, plan []matrix.Run, missing func(plan.Cell) *Missing) {
	if window == 0 {
		runs := time.Duration(0)
		for _, p := range plan {
			if missing(p.Cell) == nil {
				runs++
			}
		}
		window = min(max(demoTime/max(runs, 1)-demoOverhead, minDemoWindow), maxDemoWindow).Round(10 * time.Millisecond)
	}
	o.Duration, o.WarmupDuration = window, min(window, max(300*time.Millisecond, window/3))
	o.RampUp, o.RampDown = max(200*time.Millisecond, window/4), 50*time.Millisecond
}

// againFor returns for how long runs of such a plan are made again: as long as it would take
// anyway. Of windows that somebody asked for nobody was told a time: 0, always.
func againFor(window, estimate time.Duration) time.Duration {
	if window != 0 {
		return 0
	}
	return max(demoTime, estimate)
}
