// SPDX-License-Identifier: MIT

package judge

import (
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// waitsForWrites reports whether a flow's receiver, which writes payload to a file, waited for that
// while payload waited for it. A thread that neither runs nor wants to, with payload to be read,
// waits for something else: so the share of the window with payload there, less that in which the
// thread had work, is the least that it can have waited. A receiver that gathers sleeps by itself.
// Its window is closed, or so large that the sender's buffer is full sooner: then payload must have
// been there nearly always.
func waitsForWrites(r *results.Record, n int, rwnd float64) bool {
	if r.Cell.WritesTo() == "" || r.Cell.GatherUs != nil && *r.Cell.GatherUs > 0 || n >= len(r.SUT.Flows) {
		return false
	}
	name := measure.MetricThenUnread
	if len(r.SUT.Flows) > 1 {
		name = measure.FlowMetric(n, name)
	}
	busy := r.SUT.Flows[n].ThreadCores
	unread := r.SUT.Value(name) // NaN is no wait
	return busy != nil && unread-*busy >= heldUp && (rwnd >= heldUp || unread >= nearlyAlways)
}
