// SPDX-License-Identifier: MIT

package end

import (
	"fmt"
	"time"
)

// window: the figures are of the window that was asked for, and payload
// passed in it. Its edges are read late where other work keeps this thread off
// the CPUs. A window in time in which nothing passed is not disturbed: a mode
// that stalls looks the same, and making it again would hide that. Of one whose turns were left out
// [Evidence.turns] tells.
func (e *Evidence) window(*verdict) (found Finding) {
	if e.To == 0 {
		return found
	}
	if reason, fix := e.windowFault(); reason != "" {
		return Finding{Reason: reason, Fix: fix, Disturbed: true}
	}
	if e.Window.Bytes == 0 && !(e.Turns != nil && e.Turns.TooFew()) {
		found.Reason = fmt.Sprintf("no payload was transferred in the window of %v",
			time.Duration(e.To-e.From).Round(time.Millisecond))
		found.Fix = "the flow stalled, or other work kept the CPUs busy: measure longer, and repeat with --rx " +
			"tcp to see " +
			"whether it is the network or the mode"
	}
	return found
}

// windowFault explains how the window's edges missed what was asked for.
func (e *Evidence) windowFault() (reason, fix string) {
	const how = "other work keeps the CPUs busy: end it, give the benchmark its own CPUs, or measure longer"
	asked, got := time.Duration(e.To-e.From), time.Duration(e.ReadTo-e.ReadFrom)
	ms := func(ns int64) float64 { return float64(ns) / 1e6 }
	switch {
	case e.Opened > e.From && e.Start > 0:
		which := "the flow"
		if e.LastOpen != nil && len(e.Flows) > 1 {
			which = fmt.Sprintf("flow %d, the last one,", *e.LastOpen)
		}
		return fmt.Sprintf("the window of %v began %.1f ms before %s was open, and its edges were read %.1f ms "+
				"and %.1f ms late: connecting took %.1f ms until the receiver's welcome",
				asked.Round(time.Millisecond), ms(e.Opened-e.From), which, ms(e.ReadFrom-e.From),
				ms(e.ReadTo-e.To), ms(e.Opened-e.Start)),
			how + "; a longer --ramp-up waits for it, also where this cell alone takes long to connect, such as by " +
				"segments sent again (nstat -az TcpRetransSegs TcpExtTCPTimeouts on both hosts)"
	case got < asked-asked/4, got > asked+asked/4:
		return fmt.Sprintf("the window of %v lasted %.1f ms, its edges read %s and %s", asked.Round(time.Millisecond),
			ms(int64(got)), offBy(ms(e.ReadFrom-e.From)), offBy(ms(e.ReadTo-e.To))), how
	}
	return "", ""
}

// offBy formats by how many ms an edge was read late, or early.
func offBy(ms float64) string {
	if ms < 0 {
		return fmt.Sprintf("%.1f ms early", -ms)
	}
	return fmt.Sprintf("%.1f ms late", ms)
}
