// SPDX-License-Identifier: MIT

package end

import "fmt"

// Turns are what an end read at the edges of its turns.
type Turns struct {
	Turns     int    // in the window
	Missed    int    // of them, those whose part at pace was read late, or
	Unsettled int    // in which nothing had come until then
	LateCPU   int    // and those whose CPU time was read late
	Paced     uint64 // bytes that passed at pace
	Late      uint64 // bytes that passed between turns
}

const (
	mostMissed  = 0.25 // of the turns, of whose rate the others tell
	mostLateCPU = 0.05 // of the turns: each may have another's CPU time in it, or lack some
	mostLate    = 0.01 // of the bytes: as much of the CPU time is in nobody's turn
)

const lateFix = "other work keeps the CPUs busy: end it, give the benchmark its own CPUs, or use longer turns " +
	"(turn: 240ms)"

const settleFix = "use order: blocks, or a longer --turn (a fifteenth of it is to settle)"

// turns: enough of them tell the rate, and what was sent in a turn was over at its end.
func (e *Evidence) turns(*verdict) (found Finding) {
	t := e.Turns
	switch {
	case t == nil || e.Window.Bytes == 0: // which [Evidence.window] tells
	case 2*t.Unsettled > t.Turns: // not disturbed: it would be so again
		found = Finding{Reason: fmt.Sprintf("in %d of %d turns nothing had come when the flow was to be at its pace: "+
			"the path's delay is longer than a turn settles", t.Unsettled, t.Turns), Fix: settleFix}
	case float64(t.Missed) > mostMissed*float64(t.Turns):
		found = Finding{Disturbed: true, Reason: fmt.Sprintf("the edges of %d of %d turns were read late", t.Missed,
			t.Turns),
			Fix: lateFix}
	case t.Paced == 0:
		found = Finding{Reason: "nothing passed in the parts of turns that tell the rate", Fix: settleFix}
	case t.Paced > e.Window.Bytes:
		found = Finding{Disturbed: true, Reason: "the edges of the window were read in a turn", Fix: lateFix}
	case float64(t.LateCPU) > mostLateCPU*float64(t.Turns):
		found = Finding{Disturbed: true, Reason: fmt.Sprintf("the CPU time of %d of %d turns was read late, when the "+
			"turn, or the next one, had begun", t.LateCPU, t.Turns), Fix: lateFix}
	default:
		found = LateBytes(t.Late, e.Window.Bytes, "the bytes")
	}
	return found
}

// LateBytes holds what came after its turn, and so may be in others', against what passed in turns:
// its own, or those of another cell of the start.
func LateBytes(late, bytes uint64, of string) (found Finding) {
	if float64(late) <= mostLate*float64(bytes) {
		return found
	}
	return Finding{Disturbed: true,
		Reason: fmt.Sprintf("as much as %.1f %% of %s passed after the turn in which it was sent",
			100*float64(late)/float64(bytes), of),
		Fix: "the buffers hold more than the path takes in the pause between turns: smaller --sndbuf, longer " +
			"turns, or order: blocks"}
}
