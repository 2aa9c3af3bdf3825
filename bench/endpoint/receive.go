// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"errors"
	"io"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
)

// arrival is a flow that has come to the data port, or why it has not.
type arrival struct {
	n     int // its number
	conn  *stream.Conn
	hello stream.Hello
	err   error
}

// receiving is the thread of a receiver's flows.
type receiving struct {
	*worker
	path  stream.Receiver
	conns []*stream.Conn // in the order of own
}

func (w *receiving) build() (path io.Closer, err error) {
	if err := exactSleeps(w.first().opts); err != nil {
		return nil, err
	}
	w.path, err = newReceiver(w.end.path, w.first().opts, w.end.spec.Cell.Steers())
	w.first().steered, _ = w.path.(*steered) // which has one flow
	return w.path, err
}

func (w *receiving) open(o orders) (ok bool) {
	w.conns, ok = w.attachAll(w.path, o)
	return ok
}

func (w *receiving) carry(sch wire.Schedule) []flowResult { return w.receiveAll(w.path, w.conns, sch) }

func (w *receiving) leave() {
	for _, c := range w.conns {
		c.Close()
	}
	for _, f := range w.own {
		f.closeOnward()
	}
}

// attachAll waits for the thread's flows and prepares the path for each. It says of each that it
// is open, or why not, and reports whether all are. What it returns has the order of own.
func (w *worker) attachAll(path stream.Receiver, o orders) (conns []*stream.Conn, ok bool) {
	byNumber := map[int]*stream.Conn{}
	ok = true
	w.assign(o)
	for i := range w.own {
		a := arrival{n: w.own[i].N, err: stream.ErrAborted}
		select {
		case a = <-w.came:
		case <-o.off: // then none has come
		}
		f := w.end.flows[a.n]
		switch {
		case a.err != nil:
		case !ok:
			a.err = stream.ErrAborted // another one was refused
		default:
			a.conn.Turns = receiversTurns(o.sch)
			if a.err = w.attach(path, f, a); a.err == nil {
				a.err = w.end.named(f, errors.Join(f.answer(w.end, a), w.end.meetBack(a)))
			}
			if a.err == nil {
				a.err = w.end.named(f, w.passOn(o, path, f, a))
			}
		}
		if a.conn != nil {
			byNumber[a.n] = a.conn
		}
		if ok = ok && a.err == nil; a.err == nil {
			f.timeArrivals(w.end, o.sch)
		}
		// not after the sender's
		w.end.started <- flowStart{n: a.n, conn: a.conn, hello: a.hello, helps: helpersOf(path, a.err),
			atNs: counter.Monotonic(), err: a.err}
	}
	for _, f := range w.own {
		if c := byNumber[f.N]; c != nil {
			conns = append(conns, c)
		}
	}
	return conns, ok
}

// attach prepares the path for a flow. One is attached at a time: they share an interface and its
// settings.
func (w *worker) attach(path stream.Receiver, f *flow, a arrival) error {
	w.end.attaching.Lock()
	defer w.end.attaching.Unlock()
	a.conn.SteerTo = f.steerTo
	if f.steered != nil && w.end.context != nil {
		if err := f.steered.queue.Expect(queueOf(f)); err != nil {
			return w.end.named(f, err)
		}
	}
	err := a.conn.Encrypt(false, f.opts, a.hello, w.end.light)
	if err == nil {
		err = path.Attach(a.conn, a.hello)
	}
	return w.end.named(f, err)
}

// receiveAll moves the thread's flows until all have ended.
func (w *worker) receiveAll(path stream.Receiver, conns []*stream.Conn, sch wire.Schedule) []flowResult {
	if len(w.own) == 0 {
		return nil
	}
	all := make([]flowResult, len(w.own))
	err := w.welcome(conns, sch)
	if err == nil {
		err = w.move(path, conns)
	}
	if aerr := w.unanswered(); aerr != nil {
		err = aerr // which ended the path
	}
	if perr := w.unpassed(); perr != nil {
		err = perr // likewise
	}
	at, nodes := counter.Monotonic(), nodesOf(path, nil)
	for i, f := range w.own {
		all[i] = flowResult{n: f.N, err: errorOf(f, err), atNs: cmp.Or(f.EndNs(), at),
			evidence: evidenceOf(path, f, len(w.own))}
		all[i].evidence.Figures = append(all[i].evidence.Figures, conns[i].TLS.Figures()...)
		if all[i].err == nil {
			all[i].err = f.answered(&all[i].evidence)
		}
		if i == 0 {
			all[i].nodes = nodes // of what all share
		}
		if err == nil {
			var lost error
			all[i].onward, lost = f.passedOn(sch)
			c := f.Meter.Snapshot()
			all[i].farewell = conns[i].SendFarewell(stream.Farewell{Bytes: c.Bytes, Mismatches: c.Mismatches,
				Verified: w.end.opts.Touch == stream.TouchVerify})
			all[i].farewell = cmp.Or(lost, all[i].farewell)
		}
	}
	return all
}

// welcome lets payload come.
func (w *worker) welcome(conns []*stream.Conn, sch wire.Schedule) error {
	for i, c := range conns {
		if err := c.Welcome(stream.Welcome{Duration: duration(sch.DurationNs), Port: c.Visits.At.Port()}); err != nil {
			return stream.OfFlow(w.own[i].N, err)
		}
	}
	return nil
}

// move runs the path's loop.
func (w *worker) move(path stream.Receiver, conns []*stream.Conn) error {
	if len(w.own) == 1 {
		return stream.OfFlow(w.first().N, path.Receive(conns[0], &w.first().Meter))
	}
	flows := make([]*stream.Flow, len(w.own))
	for i, f := range w.own {
		flows[i] = &f.Flow
	}
	return path.(stream.Group).ReceiveAll(flows)
}

// errorOf converts an error of a thread to that of one of its flows: its own, or that all were
// ended.
func errorOf(f *flow, err error) error {
	var of *stream.FlowError
	switch {
	case err == nil, !errors.As(err, &of):
		return err
	case of.N == f.N:
		return of.Err
	}
	return stream.ErrAborted
}

// evidenceOf returns what a path says of one of its flows.
func evidenceOf(path stream.Receiver, f *flow, flows int) (e stream.Evidence) {
	if g, ok := path.(stream.Group); ok && flows > 1 {
		return g.EvidenceOf(&f.Flow)
	}
	if w, ok := path.(stream.Witness); ok {
		e = w.Evidence()
	}
	return e
}
