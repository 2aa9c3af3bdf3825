// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/results"
)

// run is the flows of an end under way.
type run struct {
	end   *End
	sch   wire.Schedule
	start flowStart // of the first flow

	startNs    int64 // all flows were open
	left       int   // flows that have not ended
	died       *flow // the first that ended with an error, by which all end; nil: none
	from, to   edge
	stall      *stallWatch
	sampler    *counter.Sampler
	pmu        *counter.PMU
	pollers    *counter.Pollers // nil: nothing polls for the flows
	polledBy   NAPIThreads
	nic        *nicWatch
	congestion string
	usage      [2]counter.Rusage // of the process, at the flows' beginning and end
	warnings   []string

	softnet map[int]uint64 // packets that each CPU of the host processed, under a CPU layout
}

// edge is the counters at one end of the window.
type edge struct {
	taken bool
	atNs  int64 // when flow was read
	flows []stream.Counters
	times *stream.Times // of all flows; nil: they are not timed
	host  counter.Snapshot
	probe probeReading
	nic   nicReading
	timed bpf.Timed // eBPF programs
}

// Run runs the flows once. Ending ctx aborts it. It always returns a result: what
// went wrong is in its verdict.
func (e *End) Run(ctx context.Context, sch wire.Schedule) wire.EndResult {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &run{end: e, sch: sch}
	err := e.begin(cancel)
	if err == nil {
		err = r.do(ctx)
	}
	return r.judge(err)
}

// begin takes the one run of this end; cancel calls it off.
func (e *End) begin(cancel context.CancelCauseFunc) error {
	for _, w := range e.workers {
		if err := w.begin(cancel); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) do(ctx context.Context) error {
	r.pmu = counter.OpenPMU(counter.FS{}, r.end.spec.MeasureCPUs)
	defer r.pmu.Close()
	r.openPollers()
	defer r.pollers.Close()
	r.nic = r.end.watchNIC()
	defer r.nic.close()
	if err := r.open(ctx); err != nil {
		return err
	}
	defer func() {
		for _, w := range r.end.workers {
			close(w.finish)
		}
	}()
	stop := context.AfterFunc(ctx, r.end.abort)
	defer stop()
	r.startSampler()
	if err := r.end.profiler.start(); err != nil {
		r.warnings = append(r.warnings, err.Error())
	}
	calm := hurry()
	err := r.measure(ctx)
	if err != nil {
		r.end.abort()
	}
	r.awaitEnd()
	r.unwatch()
	calm()
	if !r.to.taken && r.from.taken && r.sch.ToNs == 0 {
		err = errors.Join(err, r.take(&r.to, true))
	}
	switch ferr := r.flowError(); {
	case ferr == nil, err != nil && errors.Is(ferr, stream.ErrAborted):
		return err // the path was only called off
	case err == nil, errors.Is(err, errEndedEarly):
		return ferr // which is why
	default:
		return fmt.Errorf("%w; %w", err, ferr)
	}
}

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
	if r.end.spec.Role == stream.RX {
		go r.accept(actx)
	}
	for range r.end.flows {
		s := <-r.end.started
		if s.err != nil && err == nil {
			err = s.err
			cancel(stream.ErrAborted) // the others
		}
		f := r.end.flows[s.n]
		if f.Conn = s.conn; s.err != nil {
			f.Conn = nil // its thread closes it
		}
		if r.startNs = max(r.startNs, s.atNs); s.n == 0 {
			r.start = s
		}
	}
	if err != nil {
		return err
	}
	r.stall = newStallWatch(r.end, orDefault(r.sch.StallNs, defaultStall))
	r.congestion, _ = sock.Congestion(r.end.first().Conn.FD)
	r.usage[0], _ = counter.ReadRusage()
	// A window without a time of its own holds all bytes of the flows.
	if r.sch.FromNs == 0 {
		if err := r.take(&r.from, false); err != nil {
			return err
		}
	}
	r.left = len(r.end.flows)
	close(o.begin)
	return nil
}

// accept gives each flow that comes to the thread of its number.
func (r *run) accept(ctx context.Context) {
	if wait := duration(r.sch.PeerWaitNs); wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, wait, fmt.Errorf("it did not come within %v", wait))
		defer cancel()
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
		waiting[hello.Flow].came <- arrival{n: hello.Flow, conn: conn, hello: hello}
		delete(waiting, hello.Flow)
	}
}

// measure reads the counters at both edges of the window and stops a sender.
func (r *run) measure(ctx context.Context) error {
	if r.sch.FromNs > 0 {
		if err := r.pass(ctx, r.sch.FromNs-r.rehearse()); err != nil {
			return err
		}
	}
	if r.sch.FromNs > 0 {
		if err := r.take(&r.from, false); err != nil {
			return err
		}
	}
	r.watchSoftirq()
	if r.sch.ToNs > 0 {
		if err := r.pass(ctx, r.sch.ToNs); err != nil {
			return err
		}
		r.unwatch()
		if err := r.take(&r.to, true); err != nil {
			return err
		}
	}
	stopNs := r.stopNs()
	if r.end.spec.Role == stream.RX {
		// The sender stops; this end only sees to it that the flow ends.
		if err := r.passOrEnd(ctx, stopNs+int64(orDefault(r.sch.GraceNs, defaultGrace)), r.over, true); err != nil {
			return err
		}
		return cmp.Or(r.short(stopNs), r.early(stopNs))
	}
	err := r.passOrEnd(ctx, stopNs, r.over, false)
	r.end.stop()
	if err != nil {
		return err
	}
	if err := r.finish(ctx); err != nil {
		return err
	}
	return r.short(stopNs)
}

// finish waits for the last of a sender's flows: that the kernel lets go of the
// payload and the receiver gives its account.
func (r *run) finish(ctx context.Context) error {
	grace := orDefault(r.sch.GraceNs, defaultGrace)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	for !r.over() {
		select {
		case res := <-r.end.ended:
			r.book(res)
		case <-timer.C:
			return &fault.Error{Op: fmt.Sprintf("the receiver did not take and confirm the last of the payload within %v of the stop", grace),
				How: "check the link and the receiver: its own message says more if it still lives"}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// book notes that a flow has ended. One that died ends all; those that were ended so are not what
// is wrong.
func (r *run) book(res flowResult) {
	f := r.end.flows[res.n]
	f.done, f.result = true, res
	r.left--
	err := f.err()
	if err == nil {
		return
	}
	if r.died == nil {
		r.end.abort()
	}
	if r.died == nil || errors.Is(r.died.err(), stream.ErrAborted) && !errors.Is(err, stream.ErrAborted) {
		r.died = f
	}
}

// broken tells that a flow died while payload passed, and not of its last words alone.
func (r *run) broken() bool { return r.died != nil && r.died.result.err != nil }

// over tells that all flows have ended, or end.
func (r *run) over() bool { return r.left == 0 || r.died != nil }

// anyEnded tells that a flow has.
func (r *run) anyEnded() bool { return r.left < len(r.end.flows) }

// endNs is when the last flow ended; 0: one of them has not.
func (r *run) endNs() (ns int64) {
	for _, f := range r.end.flows {
		if !f.done {
			return 0
		}
		ns = max(ns, f.result.atNs)
	}
	return ns
}

// rehearse reads the counters once for nothing and returns how long that took,
// in nanoseconds. A snapshot that begins the window reads the CPU columns last;
// begun so much before its time, it ends in time also on a slow machine.
func (r *run) rehearse() int64 {
	var e edge
	if r.take(&e, false) != nil {
		return 0
	}
	return min(e.host.TookNs+e.probe.tookNs+e.nic.tookNs, (r.sch.FromNs-r.startNs)/2)
}

// stopNs is when the sender stops: as scheduled, or after the shorter of what
// the two ends wish.
func (r *run) stopNs() int64 {
	if r.sch.StopNs > 0 {
		return r.sch.StopNs
	}
	mine, theirs := r.sch.DurationNs, r.start.wish
	if r.end.spec.Role == stream.RX {
		theirs = r.start.hello.Duration.Nanoseconds()
	}
	switch {
	case mine == 0 && theirs == 0:
		mine = int64(DefaultDuration)
	case mine == 0, theirs > 0 && theirs < mine:
		mine = theirs
	}
	return r.startNs + mine
}

// early is the error of a receiver one of whose flows the sender ended long before
// stopNs. A sender that is killed ends it like one that is done: the kernel
// closes its socket.
func (r *run) early(stopNs int64) error {
	if r.sch.StopBytes > 0 || r.broken() {
		return nil // it ends when the bytes have passed
	}
	planned := duration(stopNs - r.startNs)
	for _, f := range r.end.flows {
		took := duration(f.result.atNs - r.startNs)
		if !f.done || took >= planned-planned/20-100*time.Millisecond {
			continue
		}
		return r.end.named(f, &fault.Error{Peer: true, Op: fmt.Sprintf("the sender ended the flow after %v of %v", took.Round(time.Millisecond), planned.Round(time.Millisecond)),
			How: "it was stopped or killed: its own message says more"})
	}
	return nil
}

// short is the error of a flow that ended before the bytes had passed that bound it.
func (r *run) short(stopNs int64) error {
	n := r.end.Progress()
	if n >= r.sch.StopBytes || r.broken() {
		return nil
	}
	return &fault.Error{Peer: r.end.spec.Role == stream.RX,
		Op: fmt.Sprintf("the flow ended after %d of %d bytes; it had %v",
			n, r.sch.StopBytes, duration(stopNs-r.startNs).Round(time.Millisecond)),
		How: "give it more time, or look at what the sender says"}
}

// sentAll tells that a sender's flow has all the bytes that bound it.
func (r *run) sentAll() bool {
	return r.sch.StopBytes > 0 && r.end.spec.Role == stream.TX && r.end.Progress() >= r.sch.StopBytes
}

// bytesEvery is how often a sender that stops by its bytes looks at them: the flow
// is longer by what passes meanwhile.
const bytesEvery = 2 * time.Millisecond

var errEndedEarly = &fault.Error{Peer: true, Op: "the flow ended before its time", How: "the other end, most often the sender, broke off: its own message says why"}

// pass waits until ns; a flow that ends before is an error. One that has ended when
// this thread gets to look, but after ns, is none: the window's gate says how late
// its edges were read.
func (r *run) pass(ctx context.Context, ns int64) error {
	if ns == 0 {
		return nil
	}
	if err := r.passOrEnd(ctx, ns, r.anyEnded, false); err != nil {
		return err
	}
	for _, f := range r.end.flows {
		if f.done && (f.result.atNs < ns || f.err() != nil) {
			return r.end.named(f, errEndedEarly)
		}
	}
	return nil
}

// passOrEnd waits until ns or the end of flows, whichever is first, watching
// that they do not stall. With must, reaching ns is an error.
func (r *run) passOrEnd(ctx context.Context, ns int64, end func() bool, must bool) error {
	if end() {
		return nil
	}
	every := min(250*time.Millisecond, max(r.stall.limit/4, time.Millisecond))
	if r.sch.StopBytes > 0 && r.end.spec.Role == stream.TX {
		every = min(every, bytesEvery)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	timer := time.NewTimer(duration(ns - monotonic()))
	defer timer.Stop()
	for {
		select {
		case res := <-r.end.ended:
			if r.book(res); end() {
				return nil
			}
		case <-timer.C:
			if must {
				return &fault.Error{Op: fmt.Sprintf("the sender did not end %s within %v of its time", r.unended(), orDefault(r.sch.GraceNs, defaultGrace)),
					How: "check the sender: its own message says more if it still lives"}
			}
			return nil
		case <-tick.C:
			if err := r.stall.check(); err != nil {
				return err
			}
			if r.sentAll() {
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// unended names what has not ended, for people.
func (r *run) unended() string {
	if len(r.end.flows) == 1 {
		return "the flow"
	}
	var which []string
	for _, f := range r.end.flows {
		if !f.done {
			which = append(which, fmt.Sprint(f.N))
		}
	}
	return "flow " + strings.Join(which, ", ")
}

// awaitEnd waits for the data paths to return; every path does after Stop or
// Abort.
func (r *run) awaitEnd() {
	for r.left > 0 {
		r.book(<-r.end.ended)
	}
	r.usage[1], _ = counter.ReadRusage()
}

// stallWatch notices a flow without progress.
type stallWatch struct {
	end   *End
	limit time.Duration
	seen  []progress // by the flows' numbers
}

// progress is how far a flow had come, and when it came so far.
type progress struct {
	bytes uint64
	since time.Time
}

func newStallWatch(e *End, limit time.Duration) *stallWatch {
	s := &stallWatch{end: e, limit: limit}
	for _, f := range e.flows {
		s.seen = append(s.seen, progress{f.Meter.Snapshot().Bytes, time.Now()})
	}
	return s
}

func (s *stallWatch) check() error {
	for i, f := range s.end.flows {
		p := &s.seen[i]
		if b := f.Meter.Snapshot().Bytes; b != p.bytes || f.done {
			*p = progress{b, time.Now()}
		}
		if time.Since(p.since) > s.limit {
			return s.end.named(f, &fault.Error{Op: fmt.Sprintf("no payload byte for %v, after %d bytes", s.limit, p.bytes),
				How: "check the link and the other end; its own message says more if it still lives"})
		}
	}
	return nil
}

// flowError is what the data paths reported: of several, the one that ended the others.
func (r *run) flowError() error {
	if r.died == nil {
		return nil
	}
	return r.end.named(r.died, r.died.err())
}

// take reads the counters at an edge. The flow's bytes and the clock are read
// next to the CPU columns, which lie on the window's side.
func (r *run) take(e *edge, end bool) error {
	cfg := counter.Config{CPUs: r.end.spec.MeasureCPUs, Dev: r.end.spec.Dev, Sockets: r.end.sockets(),
		Threads: r.end.threads(), End: end, PMU: r.pmu, Pollers: r.pollers}
	if end {
		e.flows, e.times, e.atNs = r.end.counters(), r.end.times(), monotonic()
	}
	if !end {
		e.timed, e.probe, e.nic = bpf.ReadTimed(), r.end.probes.read(false), r.nic.read()
	}
	var err error
	e.host, err = counter.Take(cfg)
	if end {
		e.nic, e.probe, e.timed = r.nic.read(), r.end.probes.read(true), bpf.ReadTimed()
	} else {
		e.flows, e.times, e.atNs = r.end.counters(), r.end.times(), monotonic()
	}
	e.taken = err == nil
	return err
}

func (r *run) startSampler() {
	if r.end.spec.SampleMs == 0 {
		return
	}
	cpus := len(r.end.spec.MeasureCPUs)
	if cpus == 0 {
		online, _ := counter.OnlineCPUs(counter.FS{}) // the sampler says what is wrong
		cpus = len(online)
	}
	length := duration(r.stopNs()-r.startNs) + time.Second
	wish := time.Duration(r.end.spec.SampleMs) * time.Millisecond
	interval := sampleInterval(wish, length, cpus)
	if interval != wish {
		r.warnings = append(r.warnings, fmt.Sprintf(
			"a sample every %v instead of %v: those of %d CPUs over %v do not fit",
			interval, wish, cpus, length))
	}
	s, err := counter.StartSampler(counter.SamplerConfig{CPUs: r.end.spec.MeasureCPUs,
		Interval: interval, Bytes: r.end.Progress, Expect: length})
	if err != nil {
		r.warnings = append(r.warnings, "no time series: "+err.Error())
		return
	}
	r.sampler = s
}

// mostPoints of all series together are what an answer has room for (wire.MaxLine),
// if each has 40 bytes and the run takes a quarter longer.
const mostPoints = 300_000

// sampleInterval is the one that was wished for, or longer where the series of that
// many CPUs, and two of the flow, would be too long.
func sampleInterval(wish, length time.Duration, cpus int) time.Duration {
	least := length / mostPoints * time.Duration(cpus+2)
	if least <= wish {
		return wish
	}
	return least.Truncate(time.Millisecond) + time.Millisecond
}

// host fills the figures of the steady window.
func (r *run) host() results.Host {
	env, warn := counter.ReadEnv(counter.FS{}, r.end.spec.Dev)
	r.warnings = append(r.warnings, warn...)
	h := results.Host{Env: env}
	h.Env.Congestion, h.Env.UringEngine = r.congestion, r.end.first().result.evidence.UringEngine
	h.Env.AppCPU = counter.FormatCPUList(r.end.cpus())
	if r.sampler != nil {
		s := r.sampler.Stop(r.from.atNs)
		h.Series, h.Metrics = s.Series, s.Metrics
		r.warnings = append(r.warnings, s.Warnings...)
	}
	if !r.from.taken || !r.to.taken {
		return h
	}
	rows, change := counter.Delta(r.from.host, r.to.host)
	h.Metrics = slices.Concat(rows, linkSpeed(r.end.spec.Dev), results.PacketSizes(rows), fragments(),
		r.nic.figures(r.from.nic, r.to.nic, float64(r.to.atNs-r.from.atNs)/1e9), h.Metrics)
	r.warnings = append(r.warnings, change.Warnings...)
	change.Fill(&h)
	r.polled(&h)
	h.FlowMHz = change.FlowMHz(r.flowCPUs(change))
	r.placed(&h, change)
	r.fillFlow(&h, change)
	h.Probes, warn = r.end.probes.figures(r.from.probe, r.to.probe, *h.Bytes)
	r.warnings = append(r.warnings, warn...)
	return h
}
