// SPDX-License-Identifier: MIT

package endpoint

import (
	"net"
	"strconv"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/judge/end"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// What the receiving application does with the payload (`then`). Passed on, it goes back to the
// sender's host, by a flow of its own for each that came: there another [End] of the sender's
// process receives it, by mode tcp, and verifies it. It measures nothing but its flows, as the
// other way of an end does. The hello names its port.

// sinkBuffer is what a sink receives into: it stays in the cache.
const sinkBuffer = 256 << 10

// sinkSpec makes the spec of what receives, at a sender, what comes back to it.
func sinkSpec(s wire.EndSpec, dev string) (wire.EndSpec, error) {
	b, err := backSpec(s, dev)
	c := &s.Cell
	b.Cell = plan.Cell{RX: "tcp", TX: "tcp", Touch: string(stream.TouchVerify), RXBuffer: sinkBuffer,
		RcvBuf: c.RcvBuf, SndBuf: c.SndBuf, Congestion: c.Congestion, Flows: c.Flows}
	return b, err
}

// passOn opens the flow that goes on, for one that has come. The path is to move payload to it.
func (w *worker) passOn(o orders, path stream.Receiver, f *flow, a arrival) error {
	c := &w.end.spec.Cell
	if !c.PassesOn() {
		return nil
	}
	h := stream.Hello{Cookie: w.end.spec.Cookie, TXMode: c.Then, MessageBytes: a.hello.MessageBytes,
		PeriodBytes: a.hello.PeriodBytes, Flow: f.N, Flows: len(w.end.flows)}
	to := net.JoinHostPort(a.conn.Remote.Addr().Unmap().String(), strconv.Itoa(int(a.hello.Back)))
	opts := f.opts.Socket
	opts.ZeroCopy = w.end.path.Has(stream.DMABuf)
	ctx, cancel := o.waits()
	defer cancel()
	out, _, err := stream.Dial(ctx, to, h, opts)
	if err != nil {
		return err
	}
	on, err := stream.NewOnward(a.conn, out, c.Then == plan.ThenSplice)
	f.onward.Store(on) // from now on it is closed, and aborted, with the flow
	if err != nil {
		return err
	}
	if p, ok := path.(stream.Forwarder); ok {
		return p.PassOn(on, &f.Meter)
	}
	f.Meter.PassOn(on)
	return nil
}

// passedOn ends the flow that goes on, when the one that came has ended, and takes the account of
// who received it.
func (f *flow) passedOn(sch wire.Schedule) (*stream.Farewell, error) {
	on := f.onward.Load()
	if on == nil {
		return nil, nil
	}
	if err := on.Conn.EndOfSend(); err != nil {
		return nil, err
	}
	peer, err := on.Conn.ReadFarewell(graceEnd(sch))
	return &peer, err
}

// unpassed returns the error of the first of the flows that could not be passed on.
func (w *worker) unpassed() error {
	for _, f := range w.own {
		if err := f.onward.Load().Err(); err != nil {
			return stream.OfFlow(f.N, err)
		}
	}
	return nil
}

// closeOnward closes the flow that goes on, and frees what answers were sent from.
func (f *flow) closeOnward() {
	f.Meter.Answers().Close()
	if on := f.onward.Load(); on != nil {
		on.Conn.Close()
	}
}

// onward sums what was passed on of all flows, or answered without a copy.
func (e *End) onward() (c stream.Counters) {
	for _, f := range e.flows {
		if on := f.onward.Load(); on != nil {
			c = c.Add(on.Meter.Snapshot())
		}
		if a := f.Meter.Answers(); a != nil {
			c = c.Add(a.Sent.Snapshot())
		}
	}
	return c
}

// fillThen fills what was passed on in the window. What splice copies nobody tells.
func (r *run) fillThen(h *results.Host, seconds float64) {
	c := &r.end.spec.Cell
	if r.end.spec.Role != stream.RX || !c.PassesOn() {
		return
	}
	w := r.to.onward.Sub(r.from.onward)
	h.Then = &results.Way{Bytes: w.Bytes, ThroughputGbps: float64(w.Bytes) * 8 / 1e9 / seconds}
	if c.Then != plan.ThenSplice {
		h.Then.ZeroCopyBytes, h.Then.CopiedBytes = &w.ZeroCopyBytes, &w.CopiedBytes
	}
}

// knownOnward is what is known of how a flow was passed on; nil: it was not.
func (f *flow) knownOnward() *end.Onward {
	on := f.onward.Load()
	if on == nil {
		return nil
	}
	return &end.Onward{Sent: on.Meter.Snapshot(), Peer: f.result.onward}
}
