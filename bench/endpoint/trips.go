// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"fmt"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/results"
)

// answeringBuffer is the memory that a receiver that answers requests receives into, unless it
// is told another: as much as stays in the cache.
const answeringBuffer = 256 << 10

// tripOptions are a cell's choices of round trips, and the size of a request.
func tripOptions(c *results.Cell) (request int, o stream.TripOptions) {
	return cmp.Or(c.Request, stream.DefaultTripByte), stream.TripOptions{ResponseBytes: cmp.Or(c.Response, stream.DefaultTripByte),
		InFlight: max(c.InFlight, 1), PerSecond: float64(c.RRRate)}
}

// messageBytes is the size of the payload's message: all requests in flight may leave by one send.
func (e *End) messageBytes() int {
	return e.opts.MessageBytes * max(e.opts.Trips.InFlight, 1)
}

// answer lets a flow's requests be answered, where its sender waits for that.
func (f *flow) answer(e *End, a arrival) error {
	asks := a.hello.ResponseBytes > 0
	if c := &e.spec.Cell; c.TX != "" && c.RoundTrips() != asks {
		return fmt.Errorf("the sender's mode is %s, not the plan's %s: start it as planned", a.hello.TXMode, c.TX)
	}
	if !asks {
		return nil
	}
	answers, err := stream.NewAnswers(a.conn, a.hello)
	if err == nil {
		f.Meter.Answer(answers)
	}
	return err
}

// unanswered is the error of the first of the flows whose requests could not be answered.
func (w *worker) unanswered() error {
	for _, f := range w.own {
		if err := f.Meter.Answers().Err(); err != nil {
			return stream.OfFlow(f.N, err)
		}
	}
	return nil
}

// trips tells that a flow is one of round trips.
func (f *flow) trips() bool { return f.Meter.Trips() != nil || f.Meter.Answers() != nil }

// gateTrips: every request was answered, and every answer was its request's.
func (r *run) gateTrips(f *flow, c stream.Counters) (reason, fix string) {
	request := uint64(r.end.opts.MessageBytes)
	if a := f.Meter.Answers(); a != nil {
		request = a.RequestBytes()
	}
	switch {
	case !f.trips():
	case f.Meter.Trips() != nil && c.Mismatches > 0:
		return fmt.Sprintf("%d bytes of answers do not match their requests, the first in answer %d: one was lost, duplicated or overwritten", c.Mismatches, (c.FirstMismatch-1)/uint64(r.end.opts.Trips.ResponseBytes)),
			"repeat with --rx tcp to see whether it is the network or the mode"
	case c.Transactions*request != c.Bytes:
		return fmt.Sprintf("%d bytes of requests, %d bytes each, but %d answers", c.Bytes, request, c.Transactions), "this is a bug of the data path: please report it"
	}
	return "", ""
}

// fillTrips fills the figures of round trips.
func (r *run) fillTrips(h *results.Host, w stream.Counters) {
	if !r.end.first().trips() {
		return
	}
	h.Transactions = &w.Transactions
	if t := r.to.times; r.end.path.RoundTrips && t != nil && r.from.times != nil {
		if d := t.Sub(r.from.times); d.Count() > 0 {
			h.RoundTrip = new(times(d))
		}
	}
	h.Metrics = append(h.Metrics, h.TripMetrics()...)
	r.warnMissedRate(h)
}

// heldRate is the least share of the rate that was asked for at which it counts as kept.
const heldRate = .99

// warnMissedRate says that the requests were not sent at the rate that was asked for: then they
// waited to be sent, which their times hold.
func (r *run) warnMissedRate(h *results.Host) {
	rate, got := float64(r.end.spec.Cell.RRRate), h.TransactionsPerS()
	if r.end.path.RoundTrips && rate > 0 && got != nil && *got < heldRate*rate {
		r.warnings = append(r.warnings, fmt.Sprintf("%.0f of %.0f transactions per second: the rate was not kept, and times count from when each request was due, so they grow during the run; ask for a lower --rr-rate, or more --in-flight", *got, rate))
	}
}
