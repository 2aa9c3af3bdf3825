// SPDX-License-Identifier: MIT

package endpoint

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/lease"
	"golang.org/x/sys/unix"
)

// pin binds the calling thread to cpu; -1 leaves it be.
func pin(cpu int) error {
	if cpu < 0 {
		return nil
	}
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return &fault.Error{Op: fmt.Sprintf("pin the data-path thread to CPU %d", cpu), Err: err,
			How: "choose a CPU that this process may use (taskset -p shows them)"}
	}
	return nil
}

// worker is the data-path thread. Paths are built, run and freed on it: an
// io_uring made for a single issuer belongs to its thread.
type worker struct {
	end *End
	own *flow
	tid int

	ready  chan error    // the path was built, or why not
	orders chan orders   // one run
	came   chan arrival  // RX: the flow of its number, or why there is none
	quit   chan struct{} // closed: no run will come
	finish chan struct{} // the last counters were read: the socket may close
	gone   chan struct{} // the thread has freed everything
	freed  error         // valid when gone

	mu     sync.Mutex
	closed bool
	cancel context.CancelCauseFunc // of the run, once it has begun
}

type orders struct {
	ctx context.Context // until all flows are open
	sch wire.Schedule
	// When all flows are open one of them is closed: payload may begin, or there will be none.
	begin, off chan struct{}
}

// begins waits until payload may begin; false when there will be none.
func (o orders) begins() bool {
	select {
	case <-o.begin:
		return true
	case <-o.off:
		return false
	}
}

// arrival is a flow that has come to the data port.
type arrival struct {
	conn  *stream.Conn
	hello stream.Hello
	err   error
}

// flowStart says that a flow is open, or why not.
type flowStart struct {
	n     int // its number
	conn  *stream.Conn
	atNs  int64        // when payload could begin
	hello stream.Hello // RX
	wish  int64        // TX: the duration that the receiver wishes, ns
	err   error
}

// flowResult says how a data path ended.
type flowResult struct {
	n        int // the flow's number
	err      error
	atNs     int64
	peer     *stream.Farewell // TX
	farewell error
	evidence stream.Evidence
	nodes    map[int]int // pages of the payload's memory by NUMA node; nil: not known
}

// spareProcessors gives the Go scheduler Ps beyond those that data paths keep
// while they sleep: it is not told of their system calls. With one per CPU a
// host of one CPU, or a process bound to one, would have none left for the
// agent.
var spareProcessors = sync.OnceFunc(func() { runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0))) })

func newWorker(e *End, f *flow) *worker {
	spareProcessors()
	w := &worker{end: e, own: f, ready: make(chan error, 1), orders: make(chan orders), came: make(chan arrival, 1),
		quit: make(chan struct{}), finish: make(chan struct{}), gone: make(chan struct{})}
	go w.run()
	return w
}

func (w *worker) prepared() error { return <-w.ready }

// run is the life of the thread, which ends with its affinity.
func (w *worker) run() {
	defer close(w.gone)
	defer lease.OnPanic()
	runtime.LockOSThread()
	w.tid = unix.Gettid()
	if err := pin(w.own.CPU); err != nil {
		w.ready <- err
		return
	}
	if w.end.spec.Role == stream.RX {
		w.receive()
	} else {
		w.send()
	}
}

func (w *worker) receive() {
	if err := exactSleeps(w.own.opts); err != nil {
		w.ready <- err
		return
	}
	path, err := newReceiver(w.end.path, w.own.opts, w.end.spec.Cell.Steers())
	w.ready <- err
	if err != nil {
		return
	}
	defer func() { w.freed = errors.Join(w.freed, path.Close()) }()
	o, ok := w.order()
	if !ok {
		return
	}
	start := w.attach(path, o)
	if start.conn != nil {
		defer start.conn.Close()
	}
	if start.err == nil {
		w.timeArrivals(o.sch)
	}
	w.end.started <- start
	if start.err != nil || !o.begins() {
		return
	}
	w.end.ended <- w.receiveFlow(path, start.conn, o.sch)
	<-w.finish
}

// attach waits for the flow and prepares the path for it. One flow is attached at a time: they
// share an interface and its settings.
func (w *worker) attach(path stream.Receiver, o orders) flowStart {
	var a arrival
	select {
	case a = <-w.came:
	case <-o.off:
		a.err = stream.ErrAborted
	}
	if a.err == nil {
		w.end.attaching.Lock()
		a.err = w.end.named(w.own, path.Attach(a.conn, a.hello))
		w.end.attaching.Unlock()
	}
	return flowStart{n: w.own.N, conn: a.conn, hello: a.hello, atNs: counter.Monotonic(), err: a.err} // not after the sender's
}

func (w *worker) receiveFlow(path stream.Receiver, conn *stream.Conn, sch wire.Schedule) flowResult {
	res := flowResult{n: w.own.N}
	if res.err = conn.Welcome(stream.Welcome{Duration: duration(sch.DurationNs)}); res.err == nil {
		res.err = path.Receive(conn, &w.own.Meter)
	}
	res.atNs = counter.Monotonic()
	res.nodes = nodesOf(path, nil)
	if witness, ok := path.(stream.Witness); ok {
		res.evidence = witness.Evidence()
	}
	if res.err == nil {
		c := w.own.Meter.Snapshot()
		res.farewell = conn.SendFarewell(stream.Farewell{Bytes: c.Bytes, Mismatches: c.Mismatches, Verified: w.end.opts.Touch == stream.TouchVerify})
	}
	return res
}

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
	path, err := w.end.path.NewSender(w.own.opts)
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
		return flowStart{n: w.own.N, err: err}
	}
	h := stream.Hello{Cookie: w.end.spec.Cookie, TXMode: w.end.spec.Mode(), MessageBytes: uint64(w.end.opts.MessageBytes),
		PeriodBytes: uint64(w.end.payload.PeriodBytes()), Duration: duration(o.sch.DurationNs),
		Flow: w.own.N, Flows: len(w.end.flows)}
	ctx, cancel := o.ctx, func() {}
	if o.sch.PeerWaitNs > 0 {
		ctx, cancel = context.WithTimeout(o.ctx, duration(o.sch.PeerWaitNs))
	}
	defer cancel()
	conn, welcome, err := w.end.transport.Dial(ctx, w.end.spec.Addr, h, w.own.opts.Socket)
	return flowStart{n: w.own.N, conn: conn, atNs: counter.Monotonic(), wish: welcome.Duration.Nanoseconds(), err: w.end.named(w.own, err)}
}

func (w *worker) sendFlow(path stream.Sender, conn *stream.Conn, sch wire.Schedule) flowResult {
	w.pace(conn, sch)
	res := flowResult{n: w.own.N, err: path.Send(conn, w.end.payload, &w.own.Meter)}
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

// begin takes the one run of this end; cancel calls it off.
func (w *worker) begin(cancel context.CancelCauseFunc) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return errors.New("this end is closed")
	case w.cancel != nil:
		return errors.New("an end runs once: open another one")
	}
	w.cancel = cancel
	return nil
}

// order waits for the run; false when there will be none.
func (w *worker) order() (orders, bool) {
	select {
	case o := <-w.orders:
		return o, true
	case <-w.quit:
		return orders{}, false
	}
}

// close ends the thread and waits for it.
func (w *worker) close() error {
	w.mu.Lock()
	first, cancel := !w.closed, w.cancel
	w.closed = true
	w.mu.Unlock()
	if first {
		if cancel != nil {
			cancel(stream.ErrAborted)
		}
		close(w.quit)
	}
	<-w.gone
	return w.freed
}
