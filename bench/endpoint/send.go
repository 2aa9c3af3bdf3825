// SPDX-License-Identifier: MIT

package endpoint

import (
	"context"
	"errors"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
)

// preparePayload makes what all flows of the end send, unless it is there: on the first one's
// thread, so that the pages come from the NUMA node of its CPU. Workers are started one by one.
func (w *worker) preparePayload() (err error) {
	if w.end.payload == nil {
		w.end.payload, err = stream.NewPayload(w.end.opts.MessageBytes)
	}
	return err
}

func (w *worker) send() {
	if err := w.preparePayload(); err != nil {
		w.ready <- err
		return
	}
	path, err := w.end.path.NewSender(w.first().opts)
	w.ready <- err
	if err != nil {
		return
	}
	defer func() { w.freed = errors.Join(w.freed, path.Close()) }()
	o, ok := w.order()
	if !ok {
		return
	}
	start := w.connect(o)
	if start.conn != nil {
		defer start.conn.Close()
	}
	w.end.started <- start
	if start.err != nil || !o.begins() {
		return
	}
	res := w.sendFlow(path, start.conn, o.sch)
	res.nodes = nodesOf(path, w.end.payload)
	w.end.ended <- res
	<-w.finish
}

func (w *worker) connect(o orders) flowStart {
	if err := sleepUntil(o.ctx, o.sch.StartNs); err != nil {
		return flowStart{n: w.first().N, err: err}
	}
	h := stream.Hello{Cookie: w.end.spec.Cookie, TXMode: w.end.spec.Mode(), MessageBytes: uint64(w.end.opts.MessageBytes),
		PeriodBytes: uint64(w.end.payload.PeriodBytes()), Duration: duration(o.sch.DurationNs),
		Flow: w.first().N, Flows: len(w.end.flows)}
	ctx, cancel := o.ctx, func() {}
	if o.sch.PeerWaitNs > 0 {
		ctx, cancel = context.WithTimeout(o.ctx, duration(o.sch.PeerWaitNs))
	}
	defer cancel()
	conn, welcome, err := w.end.transport.Dial(ctx, w.end.spec.Addr, h, w.first().opts.Socket)
	return flowStart{n: w.first().N, conn: conn, atNs: counter.Monotonic(), wish: welcome.Duration.Nanoseconds(), err: w.end.named(w.first(), err)}
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
	return res
}
