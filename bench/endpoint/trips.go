// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"fmt"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// answeringBuffer is the memory that a receiver that answers requests receives into, unless it
// is told another: as much as stays in the cache.
const answeringBuffer = 256 << 10

// tripOptions converts a cell's choices of round trips, and returns the size of a request.
func tripOptions(c *plan.Cell, k stream.Kind) (request int, o stream.TripOptions) {
	o = stream.TripOptions{ResponseBytes: cmp.Or(c.Response, stream.DefaultTrip(k)), InFlight: max(c.InFlight, 1),
		PerSecond: float64(c.RRRate)}
	if k.Packets() {
		o.Timeout = cmp.Or(time.Duration(c.RRTimeoutUs)*time.Microsecond, stream.DefaultTripTimeout)
	}
	return cmp.Or(c.Request, stream.DefaultTrip(k)), o
}

// requestBytes returns the size of what a receiver that answers takes at once: of datagrams a
// request, of a stream as much as stays in the cache.
func requestBytes(c *plan.Cell, k stream.Kind) int {
	if k.Packets() {
		return cmp.Or(c.Request, stream.DefaultTrip(k))
	}
	return answeringBuffer
}

// beginTrips begins a sender's account of its round trips.
func (f *flow) beginTrips(m stream.Mode, request int) {
	switch {
	case !m.Has(stream.RoundTrips):
	case m.Kind.Packets():
		f.Meter.TripPackets(stream.NewPacketTrips(request, f.opts.Trips))
	default:
		f.Meter.Trip(stream.NewTrips(request, f.opts.Trips))
	}
}

// tripFigures returns how well a sender kept its rate.
func (f *flow) tripFigures() []stream.Figure {
	if t := f.Meter.Trips(); t != nil {
		return t.Figures()
	}
	if t := f.Meter.PacketTrips(); t != nil {
		return t.Figures()
	}
	return nil
}

// messageBytes computes the size of the payload's message: all requests in flight may leave by one
// send.
func (e *End) messageBytes() int {
	if e.path.Kind.Packets() {
		return e.opts.MessageBytes
	}
	return e.opts.MessageBytes * max(e.opts.Trips.InFlight, 1)
}

// answer lets a flow's requests be answered, where its sender waits for that.
func (f *flow) answer(e *End, a arrival) error {
	asks := a.hello.ResponseBytes > 0
	if err := e.asPlanned(&a.hello); err != nil {
		return err
	}
	if f.asked = asks; !asks || e.path.Kind.Packets() { // whose path has begun to answer
		return nil
	}
	answers, err := stream.NewAnswers(a.conn, a.hello)
	if err == nil {
		f.Meter.Answer(answers)
	}
	return err
}

// asPlanned refuses a sender that asks for something else than the plan has, if there is a plan.
func (e *End) asPlanned(h *stream.Hello) error {
	c := &e.spec.Cell
	switch {
	case c.TX == "":
		return nil
	case c.RoundTrips() != (h.ResponseBytes > 0):
		return fmt.Errorf("the sender's mode is %s, not the plan's %s: start it as planned", h.TXMode, c.TX)
	case !c.RoundTrips():
		return nil
	}
	request, o := tripOptions(c, e.path.Kind)
	if uint64(request) != h.MessageBytes || uint64(o.ResponseBytes) != uint64(h.ResponseBytes) {
		return fmt.Errorf("the sender's requests have %d bytes and want answers of %d, but the plan's have %d "+
			"and want %d: start it as planned (request, response)",
			h.MessageBytes, h.ResponseBytes, request, o.ResponseBytes)
	}
	return nil
}

// unanswered returns the error of the first of the flows whose requests could not be answered.
func (w *worker) unanswered() error {
	for _, f := range w.own {
		if err := f.Meter.Answers().Err(); err != nil {
			return stream.OfFlow(f.N, err)
		}
	}
	return nil
}

// trips reports whether a flow is one of round trips.
func (f *flow) trips() bool {
	return f.Meter.Trips() != nil || f.Meter.PacketTrips() != nil || f.asked
}

// fillTrips fills the figures of round trips.
func (r *run) fillTrips(h *results.Host, w stream.Counters) {
	if !r.end.first().trips() {
		return
	}
	h.Transactions = &w.Transactions
	if asks := r.end.path.Has(stream.RoundTrips); asks && r.end.path.Kind.Packets() {
		h.TransactionsLost, h.AnswersLate = &w.TripsLost, &w.AnswersLate
	}
	if t := r.to.times; r.end.path.Has(stream.RoundTrips) && t != nil && r.from.times != nil {
		if d := t.Sub(r.from.times); d.Count() > 0 {
			h.RoundTrip = new(times(d))
		}
	}
	h.Metrics = append(h.Metrics, h.TripMetrics()...)
	r.warnMissedRate(h)
}

// heldRate is the least share of the rate that was asked for at which it counts as kept.
const heldRate = .99

// warnMissedRate warns that the requests were not sent at the rate that was asked for: then they
// waited to be sent, which their times hold.
func (r *run) warnMissedRate(h *results.Host) {
	rate, got := float64(r.end.spec.Cell.RRRate), h.TransactionsPerS()
	if r.end.path.Has(stream.RoundTrips) && rate > 0 && got != nil && *got < heldRate*rate {
		r.warnings = append(r.warnings, fmt.Sprintf("%.0f of %.0f transactions per second: the rate was not "+
			"kept, and times count from when each request was due, so they grow during the run; ask for a lower "+
			"--rr-rate, or more --in-flight", *got, rate))
	}
}
