// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"
	"math"
	"strings"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// From where on it was who was to poll: NAPI threads poll all that comes by their queues. An
// application polls while it waits, and softirq takes what comes meanwhile.
const (
	leastByThreads = 0.5
	leastByApp     = fewShare
)

// inertPoll: who was to poll did, at the receiver, and at the sender of round trips or of a flow
// that goes both ways.
func inertPoll(r *results.Record) *Inert {
	c := &r.Cell
	did, fix := polledByApp, aQueue+"; a receiver that always finds data does not wait, and does not poll"
	switch c.Poll {
	case "", plan.PollIRQ:
		return nil
	case plan.PollThreaded, plan.PollThreadedBusy:
		did, fix = polledByThreads, "the flows must come by queues whose NAPI has a thread: a NIC's, or that of a "+
			"veth with GRO on and TSO off at its other end (not loopback)"
	}
	// A sender waits for the next request by its clock, and polls then for nobody.
	byClock := c.RRRate > 0 && (c.Poll == plan.PollBusy || c.Poll == plan.PollSuspend)
	tg := c.BothWays() || c.RoundTrips() && !byClock
	h, where := &r.SUT, "SUT"
	if did(r, h) {
		if h, where = &r.TG, "TG"; !tg || did(r, h) {
			return nil
		}
	}
	return &Inert{"poll", fmt.Sprintf("poll %s had no effect at the %s: %s", c.Poll, where, whoPolled(h)), fix}
}

// polledByApp reports whether an end's own threads polled: of all packets that a run without pauses
// brought they took some, and of others they may have found none. What is not known is taken for
// done.
func polledByApp(r *results.Record, h *results.Host) bool {
	packets, polls := h.Counted(measure.MetricBusyPolled), h.Counted(measure.MetricAppPolls)
	switch {
	case math.IsNaN(packets) && math.IsNaN(polls):
		return true
	case !(packets > 0) && !(polls > 0):
		return false
	case r.Cell.PaceRate() > 0 || r.Cell.RRRate > 0:
		return true
	}
	return !(h.Value(measure.MetricPolledByApp) < 100*leastByApp)
}

// polledByThreads reports whether NAPI threads polled, and never rested if they were not to.
func polledByThreads(r *results.Record, h *results.Host) bool {
	share := h.Value(measure.MetricPolledByThread)
	switch {
	case math.IsNaN(h.Value("cpu_window_s")): // nothing is known of the end
		return true
	case r.Cell.Poll == plan.PollThreadedBusy && h.Value(measure.MetricBusyPolls) != 1:
		return false
	case math.IsNaN(share):
		return h.Value(measure.MetricBusiestPoller) > 0
	}
	return share >= 100*leastByThreads
}

// whoPolled tells who did instead, as far as it is known.
func whoPolled(h *results.Host) string {
	var said []string
	for _, x := range []struct{ name, who string }{{measure.MetricPolledByApp, "its threads"},
		{measure.MetricPolledByThread, "NAPI threads"}, {measure.MetricPolledBySoftirq, "softirq"}} {
		if v := h.Value(x.name); !math.IsNaN(v) {
			said = append(said, fmt.Sprintf("%s polled %.1f %% of the packets", x.who, v))
		}
	}
	if n := h.Counted(measure.MetricAppPolls); n == 0 {
		said = append(said, "its threads did not poll")
	} else if n > 0 {
		said = append(said, fmt.Sprintf("they polled %.0f times", n))
	}
	if len(said) == 0 {
		said = append(said, "no packet was taken by polling")
	}
	if v := h.Value(measure.MetricInterruptRate); !math.IsNaN(v) {
		said = append(said, fmt.Sprintf("%.0f interrupts a second", v))
	}
	return strings.Join(said, ", ")
}
