// SPDX-License-Identifier: MIT

package endpoint

import (
	"context"
	"io"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
)

// preparePayload makes what all flows of the end send, unless it is there: on the first one's
// thread, so that the pages come from the NUMA node of its CPU. Workers are started one by one.
func (w *worker) preparePayload() (err error) {
	if w.end.payload == nil {
		w.end.payload, err = stream.NewPayload(w.end.messageBytes())
	}
	return err
}

// sending is the thread of a sender's flow.
type sending struct {
	*worker
	path stream.Sender
	conn *stream.Conn
}

func (w *sending) build() (path io.Closer, err error) {
	if err := w.preparePayload(); err != nil {
		return nil, err
	}
	w.path, err = w.end.path.NewSender(w.first().opts)
	return w.path, err
}

func (w *sending) open(o orders) bool {
	start := w.connect(o)
	w.conn = start.conn
	w.end.started <- start
	return start.err == nil
}

func (w *sending) carry(sch wire.Schedule) []flowResult {
	res := w.sendFlow(w.path, w.conn, sch)
	res.nodes = nodesOf(w.path, w.end.payload)
	return []flowResult{res}
}

func (w *sending) leave() {
	if w.conn != nil {
		w.conn.Close()
	}
}

// waits returns the context of a connection to the other end: how long it may take.
func (o orders) waits() (context.Context, context.CancelFunc) {
	ctx := together(o.ctx, o.sch)
	if o.sch.PeerWaitNs > 0 {
		return context.WithTimeout(ctx, duration(o.sch.PeerWaitNs))
	}
	return ctx, func() {}
}

func (w *worker) connect(o orders) flowStart {
	if err := sleepUntil(o.ctx, o.sch.StartNs); err != nil {
		return flowStart{n: w.first().N, err: err}
	}
	h := stream.Hello{Cookie: w.end.spec.Cookie, TXMode: w.end.spec.Mode(),
		MessageBytes: uint64(w.end.opts.MessageBytes),
		PeriodBytes:  uint64(w.end.payload.PeriodBytes()), Duration: duration(o.sch.DurationNs),
		Flow: w.first().N, Flows: len(w.end.flows), ResponseBytes: uint32(w.end.opts.Trips.ResponseBytes),
		Connects: w.end.path.Has(stream.Connects), Back: w.end.backPort()}
	h.OneAtATime = h.Connects && w.end.opts.Trips.InFlight <= 1
	w.first().beginTrips(w.end.path, w.end.opts.MessageBytes)
	ctx, cancel := o.waits()
	defer cancel()
	addr := w.first().port.Addr
	if w.end.goesTo != nil {
		var err error
		if addr, err = w.end.goesTo.wait(ctx); err != nil {
			return flowStart{n: w.first().N, err: err}
		}
	}
	v, err := w.end.records(ctx, w.first(), addr, h)
	if err != nil {
		return flowStart{n: w.first().N, err: w.end.named(w.first(), err)}
	}
	h.Encrypted(w.first().opts.TLS, v)
	conn, welcome, err := w.end.transport.Dial(ctx, addr, h, w.first().opts.Socket)
	if err == nil {
		err = conn.Encrypt(true, w.first().opts, h, w.end.light)
	}
	return flowStart{n: w.first().N, conn: conn, atNs: counter.Monotonic(), wish: welcome.Duration.Nanoseconds(),
		err: w.end.named(w.first(), err)}
}

func (w *worker) sendFlow(path stream.Sender, conn *stream.Conn, sch wire.Schedule) flowResult {
	w.pace(conn, sch)
	res := flowResult{n: w.first().N, err: path.Send(conn, w.end.payload, &w.first().Meter)}
	if res.err == nil {
		res.err = conn.EndOfSend()
	}
	if res.err == nil {
		f, err := conn.ReadFarewell(graceEnd(sch))
		if res.farewell = err; err == nil {
			res.peer = &f
		}
	}
	res.atNs = counter.Monotonic()
	if witness, ok := path.(stream.Witness); ok {
		res.evidence = witness.Evidence()
	}
	res.evidence.Figures = append(res.evidence.Figures, conn.Pace.Figures()...)
	res.evidence.Figures = append(res.evidence.Figures, conn.TLS.Figures()...)
	res.evidence.Figures = append(res.evidence.Figures, w.first().tripFigures()...)
	return res
}
