// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
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
	if o.Turn > 0 {
		o.fitTurns(window, plan, missing)
		return
	}
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

// Of cells that take turns no window is longer, nor has fewer rounds.
const (
	maxTurnsWindow = 2 * time.Second
	minTurnsRounds = 4
	turnsTime      = 80 * time.Second // of all, where a start that is made again fits into 100 s as well
)

// fitTurns does so for cells that take turns: window 0 gives each as many as there is time for.
func (o *Options) fitTurns(window time.Duration, plan []matrix.Run, missing func(plan.Cell) *Missing) {
	round := 2 * o.Turn
	o.RampUp, o.RampDown, o.Fitted = round, 0, window == 0
	rounds := max(int(maxTurnsWindow/round), minTurnsRounds)
	if window > 0 {
		rounds = 0
	}
	for ; ; rounds-- {
		o.Duration = cmp.Or(window, time.Duration(rounds)*round)
		o.WarmupDuration = min(o.Duration, max(300*time.Millisecond, o.Duration/2))
		s := Session{Runner: &Runner{Opt: *o}, Missing: missing}
		if rounds <= minTurnsRounds || s.estimate(plan) <= turnsTime {
			return
		}
	}
}

// refit gives n cells as many turns as the start has time for that was planned, where nobody asked
// for a window: how long the pauses between turns are is learnt from start to start.
func (o *Options) refit(n int, window, drain, unsure time.Duration) time.Duration {
	if !o.Fitted {
		return window
	}
	length := func(window, drain, unsure time.Duration) time.Duration {
		t := o.timetable(n, window, drain, unsure)
		return t.length()
	}
	round, planned := 2*o.Turn, length(window, turnDrains, 0)
	rounds := min(minTurnsRounds, matrix.RoundsOf(window, o.Turn))
	for length(time.Duration(rounds+1)*round, drain, unsure) <= planned {
		rounds++
	}
	return time.Duration(rounds) * round
}

// againFor returns for how long runs of such a plan are made again: as long as it would take
// anyway. Of windows that somebody asked for nobody was told a time: 0, always.
func againFor(window, estimate time.Duration) time.Duration {
	if window != 0 {
		return 0
	}
	return max(demoTime, estimate)
}
