// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/machine/ssh"
	"github.com/zcbench/zcbench/plan/modes"
)

// UsageError is a spec that cannot be run anywhere: the caller's mistake.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// End is one end of a run's flows, ready to run once.
type End struct {
	spec wire.EndSpec
	path stream.Mode
	opts stream.Options
	// places are where the softirq of each interface was put; empty: they are left as found
	places map[string]*place.Placement
	polls  []polling // of each interface; none: who polls is left as found
	// polling is how that ended
	polling struct {
		over        sync.Once
		moved, left error // what somebody else had changed by then, and what could not be put back
	}
	// context has the queues of all flows that one rule for the port sends there; nil: each has a
	// rule, or none
	context      portRule
	queueWorkers map[int]*worker // then, of a path that takes queues over, whose each is
	flows        []*flow         // by their numbers

	asked     versions // TX: of NICs that are to encrypt
	transport stream.Transport
	port      stream.Listener // RX
	inside    *inside         // RX: nil: the flow comes to no container
	payload   *stream.Payload // TX
	probes    *probes
	profiler  *profiler
	meters    heldMeters
	// OnEdge is called when the flow is at its pace in a turn, and at the turn's end; nil: nobody
	// is.
	OnEdge  func()
	readsNs int64 // what reading the probes takes at an edge of a turn

	back   *End      // the other way, where the end sends and receives at once; nil: it does not
	light  bool      // it is the other way of an end, which measures what is not the flows' own
	goesTo *backAddr // of such a sender, where its flows go

	workers   []*worker // in the order in which they were begun
	attaching sync.Mutex
	started   chan flowStart  // of each flow, whether it is open
	ended     chan flowResult // of each flow that was: its path returned
	met       chan struct{}   // closed: all flows are open
}

// Met returns a channel that is closed when all flows are open.
func (e *End) Met() <-chan struct{} { return e.met }

// first stands for all flows where they are alike.
func (e *End) first() *flow { return e.flows[0] }

// Check finds what is wrong with a spec without touching the host.
func Check(s wire.EndSpec) error {
	_, _, err := resolve(s)
	return err
}

func resolve(s wire.EndSpec) (stream.Mode, stream.Options, error) {
	if s.Role != stream.RX && s.Role != stream.TX {
		return stream.Mode{}, stream.Options{}, &UsageError{fmt.Errorf("unknown role %q", s.Role)}
	}
	path, err := modes.Find(s.Role, s.Mode())
	if err == nil {
		err = check(s, path)
	}
	if err != nil {
		return stream.Mode{}, stream.Options{}, &UsageError{err}
	}
	return path, pathOptions(s, path), nil
}

// Open prepares an end: all memory, rings, the data port, and what counters are read through. A
// mode that this host cannot run is an [*fault.Unsupported].
func Open(s wire.EndSpec) (*End, error) { return openWay(s, false) }

// openWay does what [Open] does; light: the end is the other way of one.
func openWay(s wire.EndSpec, light bool) (*End, error) {
	path, o, err := resolve(s)
	if err != nil {
		return nil, err
	}
	if c := &s.Cell; s.Role == stream.TX && c.PacePercent != 0 && c.PaceBitsPS == 0 {
		return nil, &UsageError{
			fmt.Errorf("pace %d%% refers to what zcbench measures before a plan: ask for a rate, such as 10G",
				c.PacePercent)}
	}
	if s.Role == stream.TX && s.Cell.LossFree {
		return nil, &UsageError{
			fmt.Errorf("pace %s is a search of zcbench's (run, matrix, loss-free): ask for a rate, such as 10M",
				plan.PaceLossFree)}
	}
	if err := errors.Join(path.Support(""), kernelEncrypts(o), answersSupport(&s)); err != nil {
		return nil, err
	}
	of := path
	if s.Role == stream.RX && s.Cell.Steers() {
		of.Traits |= stream.NeedsDev
	}
	if o.NIC.Dev, err = flowDev(of, s); err != nil {
		return nil, err
	}
	if dev := floods(path, o); dev != "" {
		if err := ssh.Refuse(dev); err != nil { // whoever began it, and whatever was allowed
			return nil, err
		}
	}
	devs, err := portDevs(of, s, o.NIC.Dev)
	if err != nil {
		return nil, err
	}
	if s.Flows, o.NIC.Beside, err = withQueues(path, s, devs); err != nil {
		return nil, err
	}
	if s.Role == stream.RX && s.Cell.ByPort() {
		o.NIC.ByPort = new(stream.Shared)
	}
	e := newEnd(s, path, o, devs...)
	e.light = light
	if err := e.open(); err != nil {
		return nil, e.giveUp(err)
	}
	if err := e.openBack(s); err != nil {
		return nil, e.giveUp(err)
	}
	return e, nil
}

// floods returns the interface by which an end sends frames as fast as it can: that of a generator,
// and of a receiver that sends them back, or on by another one; "": there is none.
func floods(p stream.Mode, o stream.Options) string {
	out, toDev := stream.RedirectDev(o.Frames.Redirect)
	switch {
	case p.Kind != stream.Frame:
		return ""
	case p.Role == stream.TX, p.Has(stream.SendsBack), p.Has(stream.Redirects) && toDev && out == "":
		return o.NIC.Dev
	case p.Has(stream.Redirects) && toDev:
		return out
	}
	return ""
}

// newEnd makes an end without opening anything. Devs are the interfaces of its ports, as
// [portDevs] finds them.
func newEnd(s wire.EndSpec, path stream.Mode, o stream.Options, devs ...string) *End {
	e := &End{spec: s, path: path, opts: o, transport: modes.Transports[path.Kind], flows: flowsOf(s, o, devs...),
		met: make(chan struct{}), queueWorkers: map[int]*worker{}}
	e.started, e.ended = make(chan flowStart, len(e.flows)), make(chan flowResult, len(e.flows))
	return e
}

// giveUp frees an end that could not be opened because of err. That something of
// it is left on the host is worse than that the mode cannot run there.
func (e *End) giveUp(err error) error {
	cerr := e.Close()
	if cerr == nil {
		return err
	}
	return &fault.Error{Op: fault.Reason(err) + "; and after that", Err: cerr,
		How: cmp.Or(fault.Fix(cerr), fault.Fix(err))}
}

func (e *End) open() (err error) {
	if err := e.bindFlows(); err != nil {
		return err
	}
	if err := e.placeSoftirq(); err != nil {
		return err
	}
	if e.inside, err = enter(e.spec); err != nil {
		return err
	}
	if e.spec.Role == stream.RX {
		if err := e.listen(); err != nil {
			return err
		}
	}
	if e.probes, err = openProbes(e); err != nil {
		return err
	}
	if e.profiler, err = openProfiler(e.spec); err != nil {
		return err
	}
	if err := e.makeFiles(); err != nil {
		return err
	}
	for _, own := range e.shares() {
		w := newWorker(e, own)
		e.workers = append(e.workers, w)
		if err := w.prepared(); err != nil {
			return e.named(w.first(), err)
		}
		e.queueWorkers[queueOf(own[0])] = w
	}
	if err := e.openPort(); err != nil {
		return err
	}
	if e.light {
		return nil
	}
	if err := e.setPolls(); err != nil {
		return err
	}
	e.readsNs = e.probes.takes(e.spec).Nanoseconds()
	m := openMeters(e.spec, e.inside)
	e.meters.hold(m)
	return m.fitTurns(e.spec)
}

// edge tells who measures power that a part of a turn begins or ends.
func (e *End) edge() {
	if e.OnEdge != nil {
		e.OnEdge()
	}
}

// ReadsNs returns how long an end with turns has to be given to read its probes at an edge of one.
func (e *End) ReadsNs() int64 { return min(e.readsNs, wire.MostReads.Nanoseconds()) }

// Addr returns the data port's address, of a receiving end.
func (e *End) Addr() net.Addr { return e.port.Addr() }

// Progress sums the payload bytes so far.
func (e *End) Progress() (n uint64) {
	for _, f := range e.flows {
		n += f.Meter.Snapshot().Bytes
	}
	return n
}

// Close frees everything. An end that still runs is aborted first. Flows are freed in reverse
// order, because what one of them changed of the interface stands on what those before it did.
func (e *End) Close() error {
	var err error
	if e.back != nil {
		err = e.back.Close()
	}
	err = errors.Join(err, e.endPolls()) // of an end that never ran
	for _, w := range slices.Backward(e.workers) {
		err = errors.Join(err, w.close())
	}
	err = errors.Join(err, e.closeFiles())
	if e.context != nil {
		err = errors.Join(err, e.context.Release())
	}
	if e.port != nil {
		err = errors.Join(err, e.port.Close())
	}
	if e.payload != nil {
		err = errors.Join(err, e.payload.Close())
	}
	err = errors.Join(err, e.inside.close(), e.undoPlacement())
	e.meters.close()
	return errors.Join(err, e.probes.close(), e.profiler.close())
}
