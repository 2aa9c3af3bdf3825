// SPDX-License-Identifier: MIT

package end

import (
	"fmt"

	"github.com/zcbench/zcbench/plan"
)

// Turns are what an end read at the edges of its turns.
type Turns struct {
	Turns     int     // in the window
	LeftOut   int     // of them, those that do not count, for one reason or several:
	Missed    int     // whose part at pace was read late
	LateCPU   int     // whose CPU time was read late
	Crowded   int     // in which bytes of others came
	Unsettled int     // those in which nothing had come when the flow was to be at its pace
	Paced     uint64  // bytes that passed at pace, in turns that count
	Stolen    float64 // share of the machine's CPU time that a hypervisor took meanwhile
}

const (
	mostLeftOut = 0.25 // of the turns, as long as so many remain:
	leastTurns  = 4
	leastPaced  = 0.5 // of the bytes: else the rate is not that of the rest
	// mostStolen of the CPU time makes no turn late: internal/starved has the same limit.
	mostStolen = 0.025
)

const lateFix = "other work keeps the CPUs busy: end it, give the benchmark its own CPUs, or use longer turns " +
	"(turn: 240ms)"

const stolenFix = "other virtual machines take the CPUs of this one (steal in /proc/stat): use a quieter host, or " +
	"longer turns (turn: 240ms)"

const settleFix = "use order: blocks, or a longer --turn (a fifteenth of it is to settle)"

const crowdedFix = "the buffers hold more than the path takes in the pause between turns, which the next start " +
	"makes longer: smaller --sndbuf, longer turns, or order: blocks"

// turns: most of them were read in time, and had no bytes but their own.
func (e *Evidence) turns(*verdict) (found Finding) {
	t := e.Turns
	lateFix := lateFix
	if t != nil && t.Stolen > mostStolen {
		lateFix = stolenFix
	}
	if e.Cell != nil && e.Cell.Probe != "" && e.Cell.Probe != plan.ProbeTCP {
		lateFix += ", or fewer probes"
	}
	switch {
	case t == nil: // it has none
	case t.TooFew():
		found = Finding{Disturbed: true, Reason: fmt.Sprintf("%d of %d turns cannot count: the rate of %d and the CPU "+
			"time of %d were read late, and in %d came bytes of other cells' turns%s", t.LeftOut, t.Turns, t.Missed,
			t.LateCPU, t.Crowded, t.stolen()), Fix: lateFix}
		if t.Crowded > max(t.Missed, t.LateCPU) {
			found.Fix = crowdedFix
		}
	case 2*t.Unsettled > t.Turns: // not disturbed: it would be so again
		found = Finding{Reason: fmt.Sprintf("in %d of %d turns nothing had come when the flow was to be at its pace: "+
			"the path's delay is longer than a turn settles", t.Unsettled, t.Turns), Fix: settleFix}
	case e.Window.Bytes > 0 && t.Paced == 0: // of a window without bytes [Evidence.window] tells
		found = Finding{Reason: "nothing passed in the parts of turns that tell the rate", Fix: settleFix}
	case float64(t.Paced) < leastPaced*float64(e.Window.Bytes):
		found = Finding{Disturbed: true, Reason: fmt.Sprintf("only %.0f %% of the bytes passed in the parts of turns "+
			"that tell the rate%s", 100*float64(t.Paced)/float64(e.Window.Bytes), t.stolen()), Fix: lateFix}
	}
	return found
}

// stolen says what a hypervisor took meanwhile; "": too little to matter.
func (t *Turns) stolen() string {
	if t.Stolen <= mostStolen {
		return ""
	}
	return fmt.Sprintf("; meanwhile the machine's host took %.0f %% of its CPU time", 100*t.Stolen)
}

// TooFew reports whether too few turns count to stand for all.
func (t *Turns) TooFew() bool {
	return float64(t.LeftOut) > mostLeftOut*float64(t.Turns) || t.Turns-t.LeftOut < min(leastTurns, t.Turns)
}
