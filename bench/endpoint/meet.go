// SPDX-License-Identifier: MIT

package endpoint

import (
	"context"
	"fmt"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
)

// open waits until all flows are open, and lets payload begin.
func (r *run) open(ctx context.Context) (err error) {
	actx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	o := orders{actx, r.sch, make(chan struct{}), make(chan struct{})}
	defer func() {
		if err != nil {
			close(o.off)
		}
	}()
	for _, w := range r.end.workers {
		select {
		case w.orders <- o:
		case <-w.gone:
			return stream.ErrAborted
		}
	}
	came := &waitingFlows{end: r.end}
	if r.end.spec.Role == stream.RX {
		go r.accept(actx, came)
	}
	if err := r.openAll(came, cancel); err != nil {
		return err
	}
	r.countHelpers()
	r.stall = newStallWatch(r.end, orDefault(r.sch.StallNs, defaultStall)+longestOff(r.sch))
	if !r.end.path.Kind.Packets() {
		r.congestion, _ = sock.Congestion(r.end.first().Conn.FD)
	}
	r.usage[0], _ = counter.ReadRusage()
	// A window without a time of its own holds all bytes of the flows.
	if r.sch.FromNs == 0 {
		if err := r.take(&r.from, false); err != nil {
			return err
		}
	}
	r.beginLedger()
	r.left = len(r.end.flows)
	close(o.begin)
	close(r.end.met)
	return nil
}

// openAll waits until the threads have said of each flow that it is open, or why not. The first
// that cannot be, or is left by its sender, calls the others off.
func (r *run) openAll(came *waitingFlows, cancel context.CancelCauseFunc) (err error) {
	fail := func(why error) {
		if why != nil && err == nil {
			err = why
			cancel(stream.ErrAborted) // the others
		}
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for opened := 0; opened < len(r.end.flows); {
		select {
		case s := <-r.end.started:
			opened++
			fail(s.err)
			f := r.end.flows[s.n]
			if f.Conn = s.conn; s.err != nil {
				f.Conn = nil // its thread closes it
			}
			r.helpers = append(r.helpers, s.helps...)
			if s.atNs > r.startNs {
				r.startNs, r.lastOpen = s.atNs, f
			}
			if s.n == 0 {
				r.start = s
			}
		case <-look.C:
			fail(came.left())
		}
	}
	fail(came.left())
	return err
}

// together marks in ctx that a controller began both ends, where one did: it tells them when.
func together(ctx context.Context, sch wire.Schedule) context.Context {
	if sch.StartNs == 0 {
		return ctx
	}
	return stream.Together(ctx)
}

// accept gives each flow that comes to the thread of its number.
func (r *run) accept(ctx context.Context, came *waitingFlows) {
	ctx = together(ctx, r.sch)
	if wait := duration(r.sch.PeerWaitNs); wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, wait, fmt.Errorf("it did not arrive within %v", wait))
		defer cancel()
	}
	if r.end.context != nil {
		r.acceptAll(ctx, came)
		return
	}
	waiting := map[int]*worker{}
	for _, f := range r.end.flows {
		waiting[f.N] = f.worker
	}
	for len(waiting) > 0 {
		conn, hello, err := r.end.port.Accept(ctx)
		if err != nil {
			for n, w := range waiting {
				w.came <- arrival{n: n, err: err}
			}
			return
		}
		came.add(hello.Flow, conn)
		waiting[hello.Flow].came <- arrival{n: hello.Flow, conn: conn, hello: hello}
		delete(waiting, hello.Flow)
	}
}
