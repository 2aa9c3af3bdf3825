// SPDX-License-Identifier: MIT

package endpoint

import (
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/results"
)

// paceLead is how long after a run's start its pace begins at most: then the flow is open as
// a rule, and what was due before is caught up with in the ramp.
const paceLead = 100 * time.Millisecond

// paceBegins returns when the payload of a paced flow begins to be due, on this host's clock. Both
// ends know it from the schedule, each in its own time; 0: they have none in common.
func paceBegins(s wire.Schedule) int64 {
	if s.StartNs == 0 || s.FromNs <= s.StartNs || s.Turns != nil {
		return 0
	}
	return s.StartNs + min((s.FromNs-s.StartNs)/4, int64(paceLead))
}

// pace paces a sender's flow, if that was asked for.
func (w *worker) pace(conn *stream.Conn, s wire.Schedule) {
	conn.Pace = stream.NewPace(w.first().opts.Socket.PaceBitsPS)
	if o := w.first().opts.Objects; o.Bytes > 0 {
		conn.Pace = stream.NewObjectPace(o)
	}
	if t := s.Turns; t != nil { // of a clock of its own, which stands still outside of them
		conn.Pace = conn.Pace.InTurns(turnsOf(t))
		return
	}
	if w.end.path.Kind.Packets() {
		conn.Pace.InSmallPieces(w.end.opts.MessageBytes)
	}
	if at := paceBegins(s); at != 0 {
		conn.Pace.BeginIn(duration(at - monotonic()))
	}
}

// turnsOf returns the turns of a schedule's flow, for one thread to keep to.
func turnsOf(t *wire.Turns) *stream.Turns {
	return stream.NewTurns(t.AtNs, duration(t.OnNs), counter.Monotonic)
}

// receiversTurns are when a receiver has something to wait for; nil: all the time.
func receiversTurns(s wire.Schedule) *stream.Turns {
	if s.Turns == nil {
		return nil
	}
	return turnsOf(s.Turns)
}

// timeArrivals times the payload of a receiver's flow that is paced. Of packets some may be lost,
// and how much came does not say when it was due.
func (f *flow) timeArrivals(e *End, s wire.Schedule) {
	at, bits := paceBegins(s), e.spec.Cell.PaceBitsPS/len(e.flows)
	switch c := &e.spec.Cell; {
	case c.ObjectBytes > 0:
		if at != 0 {
			f.Meter.Time(stream.NewObjectArrivals(stream.Objects{Bytes: c.ObjectBytes, Every: c.Every(),
				Phase: c.ObjectPhase(f.N)}, duration(at-monotonic())))
		}
	case bits == 0 || e.path.Kind.Packets():
	case s.Turns != nil:
		f.Meter.Time(stream.NewArrivals(uint64(bits), 0).InTurns(turnsOf(s.Turns)))
	case at != 0:
		f.Meter.Time(stream.NewArrivals(uint64(bits), duration(at-monotonic())))
	}
}

// delivery computes how long payload took in a window; nil where that was not timed.
func delivery(from, to *stream.Times) *results.Delivery {
	if from == nil || to == nil {
		return nil
	}
	t := to.Sub(from)
	if t.Count() == 0 {
		return nil
	}
	return &results.Delivery{Times: times(t), Early: t.Early, Late: t.Late}
}

// times computes the figures of a distribution that is not empty.
func times(t *stream.Times) results.Times {
	return results.Times{Count: t.Count(), MeanUs: new(t.MeanUs()), P50Us: new(t.QuantileUs(.5)),
		P90Us: new(t.QuantileUs(.9)),
		P99Us: new(t.QuantileUs(.99)), P999Us: new(t.QuantileUs(.999)), MaxUs: new(t.QuantileUs(1))}
}
