// SPDX-License-Identifier: MIT

package endpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"sync"

	"github.com/zcbench/zcbench/internal/remedy"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
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
		return remedy.Error(remedy.Pin, fmt.Sprintf("pin the data-path thread to CPU %d", cpu), err,
			remedy.On{Value: strconv.Itoa(cpu)})
	}
	return nil
}

// worker is a data-path thread: of one flow, or of those that share what its path has taken over.
// Paths are built, run and freed on it: an io_uring made for a single issuer belongs to its thread.
type worker struct {
	end *End
	own []*flow // in the order of their numbers; by port none, where no flow's hash has its queue
	tid int
	cpu int // that it is bound to; -1: none

	ready  chan error   // the path was built, or why not
	orders chan orders  // one run
	came   chan arrival // RX: each of its flows, or why there is none
	// by port: which those are, once their queues are known
	assigned chan []*flow
	quit     chan struct{} // closed: no run will come
	finish   chan struct{} // the last counters were read: the socket may close
	gone     chan struct{} // the thread has freed everything
	freed    error         // valid when gone

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

// flowStart says that a flow is open, or why not.
type flowStart struct {
	n     int // its number
	conn  *stream.Conn
	atNs  int64        // when payload could begin
	hello stream.Hello // RX
	wish  int64        // TX: the duration that the receiver wishes, ns
	helps []int        // kernel threads that work for its path, by their numbers
	err   error
}

// flowResult says how a data path ended.
type flowResult struct {
	n        int // the flow's number
	err      error
	atNs     int64
	peer     *stream.Farewell // TX
	onward   *stream.Farewell // RX: of who received what was passed on; nil: nobody
	farewell error
	evidence stream.Evidence
	nodes    map[int]int // pages of the payload's memory by NUMA node; nil: not known
}

// processors are the Ps of the Go scheduler. Data paths keep theirs while they sleep, for it is
// not told of their system calls: without spare ones nobody would read counters in time, and with
// fewer than paths these would take turns.
var processors struct {
	sync.Mutex
	paths int // that live
}

// spareProcessors is how many Ps are for everything else.
const spareProcessors = 3

// holdProcessors gives n more data paths their Ps; of paths that end it is told with -n. Ps are
// never taken away again: that stops all threads.
func holdProcessors(n int) {
	processors.Lock()
	defer processors.Unlock()
	processors.paths += n
	if want := processors.paths + spareProcessors; want > runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(want)
	}
}

// newWorker begins the thread of flows.
func newWorker(e *End, own []*flow) *worker {
	holdProcessors(1)
	w := &worker{end: e, own: own, cpu: own[0].CPU, ready: make(chan error, 1), orders: make(chan orders),
		came: make(chan arrival, len(e.flows)), assigned: make(chan []*flow, 1),
		quit: make(chan struct{}), finish: make(chan struct{}), gone: make(chan struct{})}
	for _, f := range own {
		f.worker, f.CPU = w, own[0].CPU // one thread
	}
	go w.run()
	return w
}

// first returns the thread's only flow, or one that stands for all.
func (w *worker) first() *flow { return w.own[0] }

func (w *worker) prepared() error { return <-w.ready }

// run runs the thread, which ends with its affinity.
func (w *worker) run() {
	defer close(w.gone)
	defer holdProcessors(-1)
	defer lease.OnPanic()
	runtime.LockOSThread()
	w.tid = unix.Gettid()
	if err := pin(w.first().CPU); err != nil {
		w.ready <- err
		return
	}
	if w.end.spec.Role == stream.RX {
		w.live(&receiving{worker: w})
	} else {
		w.live(&sending{worker: w})
	}
}

// role is what a thread's flows are to it: received or sent.
type role interface {
	build() (io.Closer, error) // the path, and what it needs
	// opens the flows, and says of each that it is open, or why not; true: all are
	open(o orders) bool
	carry(sch wire.Schedule) []flowResult // until all have ended
	leave()                               // closes what was opened
}

// live does a thread's work in order: connections are closed before the path is freed, and not
// before the last counters were read.
func (w *worker) live(as role) {
	path, err := as.build()
	w.ready <- err
	if err != nil {
		return
	}
	defer func() { w.freed = errors.Join(w.freed, path.Close()) }()
	o, ok := w.order()
	if !ok {
		return
	}
	defer as.leave()
	if !as.open(o) || !o.begins() {
		return
	}
	for _, res := range as.carry(o.sch) {
		w.end.ended <- res
	}
	<-w.finish
}

// begin takes the one run of this end; cancel calls it off.
func (w *worker) begin(cancel context.CancelCauseFunc) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return errors.New("this end is closed")
	case w.cancel != nil:
		return errors.New("an end runs only once: open another")
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
