// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/judge/end"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
)

// answeringBuffer is the memory that a receiver that answers requests receives into, unless it
// is told another: as much as stays in the cache.
const answeringBuffer = 256 << 10

// tripOptions converts a cell's choices of round trips, and returns the size of a request.
func tripOptions(c *plan.Cell, k stream.Kind) (request int, o stream.TripOptions) {
	o = stream.TripOptions{ResponseBytes: cmp.Or(c.Response, stream.DefaultTrip(k)), InFlight: max(c.InFlight, 1),
		PerSecond: float64(c.RRRate), FastOpen: c.FastOpen != nil && *c.FastOpen}
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
	case m.Has(stream.Connects):
		f.Meter.Visit(stream.NewVisits(request, f.opts.Trips))
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
	if t := f.Meter.Visits(); t != nil {
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
	if f.asked = asks; !asks || e.path.Kind.Packets() || a.hello.Connects { // whose path has begun to answer
		if a.hello.Connects {
			f.request = a.hello.MessageBytes
		}
		return nil
	}
	answers, err := stream.NewAnswers(a.conn, a.hello)
	if err != nil {
		return err
	}
	f.Meter.Answer(answers)
	return f.lendAnswers(e, answers, a)
}

// lendAnswers lets answers leave as the requests do, where these leave without a copy and this
// end's plan, or its user, has it so. That takes memory and interfaces of this host, so the
// sender's word for it is not enough: without theirs, answers are copied, and a note says so.
func (f *flow) lendAnswers(e *End, answers *stream.Answers, a arrival) error {
	m, err := modes.Find(stream.TX, a.hello.TXMode)
	if err != nil || !m.Lends() {
		return nil
	}
	if m.Name != cmp.Or(e.spec.Cell.TX, e.spec.Answers) {
		f.copied = fmt.Sprintf("answers were copied, although the sender's mode is %s: start zcrecv with "+
			"--answers %[1]s to send them likewise", m.Name)
		return nil
	}
	o := stream.Options{UringEngine: e.spec.Cell.UringEngine, TXArea: e.spec.Cell.TXArea}
	if m.Has(stream.NeedsDev) {
		if o.NIC.Dev, err = devTo(a.conn.Remote.Addr()); err != nil {
			return err
		}
	}
	if m.Has(stream.ZeroCopySocket) {
		if err := (sock.Options{ZeroCopy: true}).Apply(a.conn.FD); err != nil {
			return err
		}
	}
	l, err := m.NewLender(o, answers.LentBytes())
	if err != nil {
		return err
	}
	answers.Lend(l)
	f.answers = m
	return nil
}

// answered adds what is known of how the flow's answers were sent, when the kernel has let go of
// them.
func (f *flow) answered(e *stream.Evidence) error {
	a := f.Meter.Answers()
	err, own := a.Drain(), a.Evidence()
	if f.copied != "" {
		own.Notes = append(own.Notes, f.copied)
	}
	e.Notes, e.Figures = append(e.Notes, own.Notes...), append(e.Figures, own.Figures...)
	return err
}

// knownAnswers is what is known of how the flow's answers were sent; nil: by copies.
func (r *run) knownAnswers(f *flow, env measure.Env) *end.Answers {
	a := f.Meter.Answers()
	if !a.Lent() {
		return nil
	}
	return &end.Answers{Mode: f.answers.Name, Sent: a.Sent.Snapshot(),
		CopiesHere: f.answers.Has(stream.CopiedHere) && r.copiesHere(f, env)}
}

// asPlanned refuses a sender that asks for something else than the plan has, if there is a plan.
func (e *End) asPlanned(h *stream.Hello) error {
	c := &e.spec.Cell
	if h.Connects {
		if err := c.TakesVisits(e.path); err != nil {
			return err
		}
	}
	asks := h.ResponseBytes > 0
	switch {
	case c.TX == "" && e.spec.Answers != "" && !(asks && h.TXMode == e.spec.Answers):
		return fmt.Errorf("the sender's mode is %s, but answers are to leave by %s: start zcsend with --mode %[2]s, "+
			"or zcrecv without --answers", h.TXMode, e.spec.Answers)
	case c.TX == "":
		return nil
	case c.TX != h.TXMode && !e.freeMode(), c.RoundTrips() != asks, c.Connects() != h.Connects:
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

// freeMode reports whether payload may come by another mode than the cell's: the other way of an
// end on its own, and what is passed on, say their own. Neither is answered.
func (e *End) freeMode() bool { return e.light && !e.spec.Cell.RoundTrips() }

// checkAnswers refuses a mode by which no answers leave, and a receiver that sends none.
func checkAnswers(s *wire.EndSpec, p stream.Mode) error {
	if s.Answers == "" {
		return nil
	}
	m, err := modes.Find(stream.TX, s.Answers)
	switch {
	case err != nil || !m.Lends():
		return fmt.Errorf("--answers %q: want one of %s", s.Answers, strings.Join(modes.Lenders(), ", "))
	case s.Role != stream.RX || p.Kind != stream.Stream || p.Has(stream.NoPayload):
		return fmt.Errorf("--answers %s: %s does not answer requests of streams: choose another --mode", m.Name, p.Name)
	}
	return nil
}

// answersSupport tries whether answers can leave on this host as its user wants.
func answersSupport(s *wire.EndSpec) error {
	m, err := modes.Find(stream.TX, s.Answers)
	if err != nil {
		return nil // it lends none
	}
	return m.Support("")
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
	return f.asks() || f.asked
}

// asks reports whether this end sends the requests of a flow.
func (f *flow) asks() bool {
	return f.Meter.Trips() != nil || f.Meter.PacketTrips() != nil || f.Meter.Visits() != nil
}

// fillTrips fills the figures of round trips, and their rows of metrics.csv.
func (r *run) fillTrips(h *results.Host, w stream.Counters) {
	if r.countTrips(h, w) {
		h.Metrics = append(h.Metrics, h.TripMetrics()...)
	}
}

// countTrips fills the figures of round trips; false: there are none.
func (r *run) countTrips(h *results.Host, w stream.Counters) bool {
	if !r.end.first().trips() {
		return false
	}
	h.Transactions = &w.Transactions
	if asks := r.end.path.Has(stream.RoundTrips); asks && r.end.path.Kind.Packets() {
		h.TransactionsLost, h.AnswersLate = &w.TripsLost, &w.AnswersLate
	}
	if t := r.to.times; r.end.path.Has(stream.RoundTrips) && t != nil && r.from.times != nil {
		if d := t.Sub(r.from.times); d.Count() > 0 {
			h.RoundTrip = new(times(d))
			h.Steps = steps(d.Steps)
		}
	}
	if r.end.first().Meter.Answers().Lent() {
		d := r.to.onward.Sub(r.from.onward)
		h.Metrics = append(h.Metrics,
			measure.Metric{Name: "answers_zero_copy_bytes", Unit: "bytes", Value: float64(d.ZeroCopyBytes),
				Source: "data path"},
			measure.Metric{Name: "answers_copied_bytes", Unit: "bytes", Value: float64(d.CopiedBytes),
				Source: "data path"},
			measure.Metric{Name: "answers_notifications", Unit: "1", Value: float64(d.Completions),
				Source: "data path"})
	}
	r.warnMissedRate(h)
	r.warnDropped(h)
	return true
}

// warnDropped tells at the receiver what became of connections that its host had no room for: they
// come a second later, which is in the sender's times, or are opened in another way; and at the
// sender that none was opened as it was asked to be.
func (r *run) warnDropped(h *results.Host) {
	if !r.end.first().visited() {
		return
	}
	if r.end.spec.Role == stream.TX {
		if r.end.opts.Trips.FastOpen && h.Value(measure.MetricFastOpens) == 0 {
			r.warnings = append(r.warnings, "no connection was opened by TCP Fast Open: both hosts need "+
				"net.ipv4.tcp_fastopen=3, and nothing between them may drop its option")
		}
		return
	}
	for _, x := range []struct{ metric, what string }{
		{measure.MetricListenDrops, "connections were dropped: net.core.somaxconn, or the receiver's thread has no " +
			"time for them"},
		{measure.MetricSYNDrops, "connections were dropped: net.ipv4.tcp_max_syn_backlog"},
		{measure.MetricSYNCookies, "connections were opened by SYN cookies, which have fewer options of TCP: " +
			"net.core.somaxconn"},
		{measure.MetricTimeWaitFull, "connections were not kept in TIME_WAIT after their end, and cost less than " +
			"others: net.ipv4.tcp_max_tw_buckets"},
	} {
		if n := h.Value(x.metric); n > 0 {
			r.warnings = append(r.warnings, fmt.Sprintf("%.0f %s (%s)", n, x.what, x.metric))
		}
	}
}

// steps computes the figures of the steps of connections; nil: there were none.
func steps(s *stream.Steps) *results.Steps {
	if s == nil {
		return nil
	}
	of := func(t *stream.Times) *results.Times {
		if t.Count() == 0 {
			return nil
		}
		return new(times(t))
	}
	return &results.Steps{Connect: of(s.Connect), Answer: of(s.Answer), Close: of(s.Close)}
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
