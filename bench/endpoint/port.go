// SPDX-License-Identifier: MIT

package endpoint

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/zc/nicqueue"
)

// One rule can send all flows of an end's port into an RSS context (steer: port), as servers have
// it. By which of its queues a flow comes is then for the hash to say, which the receiver learns
// from the flow's packets. So all flows say hello first, on ordinary queues, where it can be read;
// then the rule is made, each sender's kernel is had to send a packet, and each flow goes to the
// thread of the queue by which that came. Payload comes later, when the flow is welcome.

// portRule is what is asked of a [nicqueue.Port].
type portRule interface {
	Steer(local netip.AddrPort) error
	Queue(fd int) (id int, ok bool, err error)
	Release() error
}

// openPort makes the context over the queues of all flows, or of a control run over another queue
// alone, so that no flow comes where its memory is.
func (e *End) openPort() error {
	if e.spec.Role != stream.RX || !e.spec.Cell.ByPort() {
		return nil
	}
	to := e.portQueues()
	if e.spec.Cell.Control == plan.WrongQueue {
		to = []int{*otherQueue(nil, to...)}
	}
	port, err := nicqueue.OpenPort(e.path.Name, e.opts.NIC.Dev, to)
	if err == nil {
		e.context = port
	}
	return err
}

// portQueues lists the queues that the context is to have, in order.
func (e *End) portQueues() (ids []int) {
	for _, f := range e.spec.Flows {
		ids = append(ids, *f.Queue)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// acceptAll takes all flows, steers them, and gives each to the thread of its queue.
func (r *run) acceptAll(ctx context.Context, came *waitingFlows) {
	all := make([]arrival, len(r.end.flows))
	err := r.helloes(ctx, came, all)
	if err == nil {
		err = r.land(ctx, all)
	}
	for n := range all {
		all[n].n, all[n].err = n, err // one that did not come ends all
	}
	for _, w := range r.end.workers {
		own := slices.DeleteFunc(slices.Clone(r.end.flows), func(f *flow) bool { return f.worker != w })
		w.assigned <- own
		for _, f := range own {
			w.came <- all[f.N]
		}
	}
}

// helloes waits for all flows.
func (r *run) helloes(ctx context.Context, came *waitingFlows, all []arrival) error {
	for range all {
		conn, hello, err := r.end.port.Accept(ctx)
		if err != nil {
			return err
		}
		came.add(hello.Flow, conn)
		all[hello.Flow].conn, all[hello.Flow].hello = conn, hello
	}
	return nil
}

const (
	// landTries is how often a flow's packet is asked for that does not come by a queue of the
	// context.
	landTries = stream.MostProds
	// landWithin is how long the sender's kernel may take to acknowledge a word, with a loss or
	// two.
	landWithin = 3 * time.Second
)

// land makes the rule and finds by which queue each flow comes. One that comes by none of the
// context stays with the thread that it had: its payload shows what that means.
func (r *run) land(ctx context.Context, all []arrival) error {
	if err := r.end.context.Steer(all[0].conn.Local); err != nil {
		return err
	}
	left := slices.Clone(r.end.flows)
	for try := 0; len(left) > 0 && try < landTries; try++ {
		if try > 0 {
			time.Sleep(queueEvery)
		}
		var astray []*flow
		for _, f := range left {
			if err := all[f.N].conn.Prod(); err != nil {
				return r.end.named(f, err)
			}
		}
		for _, f := range left {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			landed, err := r.landOne(f, all[f.N].conn)
			if err != nil {
				return r.end.named(f, err)
			}
			if !landed {
				astray = append(astray, f)
			}
		}
		left = astray
	}
	return nil
}

// landOne finds by which queue a flow comes, and gives it to that queue's thread; of a path that
// shares none it has one of its own, which goes where the softirq is if that is the layout.
func (r *run) landOne(f *flow, c *stream.Conn) (landed bool, err error) {
	if err := c.Answered(landWithin); err != nil {
		return false, err
	}
	id, ok, err := r.end.context.Queue(c.FD)
	first := slices.IndexFunc(r.end.spec.Flows, func(s wire.FlowSpec) bool { return s.Queue != nil && *s.Queue == id })
	if err != nil || !ok || first < 0 {
		return false, err
	}
	own, there := &r.end.spec.Flows[f.N], &r.end.spec.Flows[first]
	f.Queue = &id
	switch {
	case r.end.path.TakesQueue():
		f.worker = r.end.queueWorkers[id]
		f.CPU = f.worker.cpu
	case own.SoftirqCPU != nil && *own.SoftirqCPU == own.CPU:
		f.CPU = there.CPU
	}
	return true, nil
}

// assign waits for the flows that a thread gets, by port.
func (w *worker) assign(o orders) {
	if w.end.context == nil {
		return
	}
	select {
	case w.own = <-w.assigned:
	case <-o.off:
		return
	}
	if len(w.own) > 0 && w.own[0].CPU != w.cpu {
		w.cpu = w.own[0].CPU
		_ = pin(w.cpu) // a CPU that another thread of the end has been bound to
	}
}

// portSpread computes how the flows were spread, and words it where that was not evenly.
func (e *End) portSpread() (ms []measure.Metric, note string) {
	if e.context == nil || e.spec.Cell.Control != "" {
		return nil, ""
	}
	queues := e.portQueues()
	of := map[int]int{}
	for _, f := range e.flows {
		of[queueOf(f)]++
	}
	most, unused, each := 0, 0, ""
	for _, id := range queues {
		most = max(most, of[id])
		if of[id] == 0 {
			unused++
		}
		each += fmt.Sprintf(", queue %d has %d", id, of[id])
	}
	const src = "SO_INCOMING_NAPI_ID, before payload"
	ms = []measure.Metric{{Name: "port_queues", Unit: "1", Value: float64(len(queues)), Source: src},
		{Name: "port_queues_unused", Unit: "1", Value: float64(unused), Source: src},
		{Name: "port_flows_most", Unit: "1", Value: float64(most), Source: src}}
	if even := (len(e.flows) + len(queues) - 1) / len(queues); most > even || unused > 0 {
		note = fmt.Sprintf("by their hash, %d flows share the %d queues of the RSS context unevenly: %s", len(e.flows),
			len(queues), each[2:])
	}
	return ms, note
}
