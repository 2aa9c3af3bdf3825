// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/results"
)

// run is one flow under way.
type run struct {
	end   *End
	sch   wire.Schedule
	start flowStart

	startNs    int64 // the flow opened
	from, to   edge
	fromErr    error // of an edge that is the flow's beginning
	stall      *stallWatch
	sampler    *counter.Sampler
	pmu        *counter.PMU
	pollers    *counter.Pollers // nil: nothing polls for the flow
	polledBy   NAPIThreads
	nic        *nicWatch
	congestion string
	usage      [2]counter.Rusage // of the process, at the flow's beginning and end
	result     flowResult
	warnings   []string

	watch   *place.Watch // under a CPU layout
	looks   map[int]int
	softirq place.Evidence
}

// edge is the counters at one end of the window.
type edge struct {
	taken bool
	atNs  int64 // when flow was read
	flows []stream.Counters
	times *stream.Times // of the only flow; nil: it is not timed
	host  counter.Snapshot
	probe probeReading
	nic   nicReading
	timed bpf.Timed // eBPF programs
}

// Run runs the flow once. Ending ctx aborts it. It always returns a result: what
// went wrong is in its verdict.
func (e *End) Run(ctx context.Context, sch wire.Schedule) wire.EndResult {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &run{end: e, sch: sch}
	err := e.first().worker.begin(cancel)
	if err == nil {
		err = r.do(ctx)
	}
	return r.judge(err)
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
	defer close(r.end.first().worker.finish)
	stop := context.AfterFunc(ctx, r.end.first().Conn.Abort)
	defer stop()
	r.startSampler()
	calm := hurry()
	err := r.measure(ctx)
	if err != nil {
		r.end.first().Conn.Abort()
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
	case err == nil, err == errEndedEarly:
		return ferr // which is why
	default:
		return fmt.Errorf("%w; %w", err, ferr)
	}
}

// open waits for the flow.
func (r *run) open(ctx context.Context) error {
	w := r.end.first().worker
	actx, cancel := ctx, func() {}
	if r.sch.PeerWaitNs > 0 && r.end.spec.Role == stream.RX {
		wait := duration(r.sch.PeerWaitNs)
		actx, cancel = context.WithTimeoutCause(ctx, wait, fmt.Errorf("it did not come within %v", wait))
	}
	defer cancel()
	select {
	case w.orders <- orders{actx, r.sch, r.beforeFirst}:
	case <-w.gone:
		return stream.ErrAborted
	}
	r.start = <-w.flow
	if r.start.err != nil {
		return r.start.err
	}
	r.end.first().Conn, r.startNs = r.start.conn, r.start.atNs
	r.stall = newStallWatch(&r.end.first().Meter, orDefault(r.sch.StallNs, defaultStall))
	r.congestion, _ = sock.Congestion(r.end.first().Conn.FD)
	r.usage[0], _ = counter.ReadRusage()
	return nil
}

// beforeFirst is called by the data path's thread when the flow is open and no byte
// of it has come: there the window of a flow begins that is bounded by its bytes, and
// holds them all. One that is bounded by time has none to lose to a reading.
func (r *run) beforeFirst(conn *stream.Conn) {
	if r.sch.StopBytes > 0 {
		r.end.first().Conn = conn
		r.fromErr = r.take(&r.from, false)
	}
}

// measure reads the counters at both edges of the window and stops a sender.
func (r *run) measure(ctx context.Context) error {
	if r.sch.FromNs > 0 {
		if err := r.pass(ctx, r.sch.FromNs-r.rehearse()); err != nil {
			return err
		}
	}
	if r.sch.StopBytes == 0 {
		r.fromErr = r.take(&r.from, false)
	}
	if r.fromErr != nil {
		return r.fromErr
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
		if err := r.passOrEnd(ctx, stopNs+int64(orDefault(r.sch.GraceNs, defaultGrace)), true); err != nil {
			return err
		}
		return cmp.Or(r.short(stopNs), r.early(stopNs))
	}
	err := r.passOrEnd(ctx, stopNs, false)
	r.end.first().Conn.Stop()
	if err != nil {
		return err
	}
	if err := r.finish(ctx); err != nil {
		return err
	}
	return r.short(stopNs)
}

// finish waits for the last of a sender's flow: that the kernel lets go of the
// payload and the receiver gives its account.
func (r *run) finish(ctx context.Context) error {
	if r.result.atNs != 0 {
		return nil
	}
	grace := orDefault(r.sch.GraceNs, defaultGrace)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case r.result = <-r.end.first().worker.ended:
		return nil
	case <-timer.C:
		return &fault.Error{Op: fmt.Sprintf("the receiver did not take and confirm the last of the payload within %v of the stop", grace),
			How: "check the link and the receiver: its own message says more if it still lives"}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
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

// early is the error of a receiver whose sender ended the flow long before
// stopNs. A sender that is killed ends it like one that is done: the kernel
// closes its socket.
func (r *run) early(stopNs int64) error {
	if r.sch.StopBytes > 0 {
		return nil // it ends when the bytes have passed
	}
	planned, took := duration(stopNs-r.startNs), duration(r.result.atNs-r.startNs)
	if r.result.err != nil || took >= planned-planned/20-100*time.Millisecond {
		return nil
	}
	return &fault.Error{Peer: true, Op: fmt.Sprintf("the sender ended the flow after %v of %v", took.Round(time.Millisecond), planned.Round(time.Millisecond)),
		How: "it was stopped or killed: its own message says more"}
}

// short is the error of a flow that ended before the bytes had passed that bound it.
func (r *run) short(stopNs int64) error {
	n := r.end.Progress()
	if n >= r.sch.StopBytes || r.result.err != nil {
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
	if err := r.passOrEnd(ctx, ns, false); err != nil {
		return err
	}
	if r.result.atNs != 0 && (r.result.atNs < ns || r.flowError() != nil) {
		return errEndedEarly
	}
	return nil
}

// passOrEnd waits until ns or the end of the flow, whichever is first, watching
// that the flow does not stall. With must, reaching ns is an error.
func (r *run) passOrEnd(ctx context.Context, ns int64, must bool) error {
	if r.result.atNs != 0 {
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
		case r.result = <-r.end.first().worker.ended:
			return nil
		case <-timer.C:
			if must {
				return &fault.Error{Op: fmt.Sprintf("the sender did not end the flow within %v of its time", orDefault(r.sch.GraceNs, defaultGrace)),
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

// awaitEnd waits for the data path to return; every path does after Stop or
// Abort.
func (r *run) awaitEnd() {
	if r.result.atNs == 0 {
		r.result = <-r.end.first().worker.ended
	}
	r.usage[1], _ = counter.ReadRusage()
}

// stallWatch notices a flow without progress.
type stallWatch struct {
	meter *stream.Meter
	limit time.Duration
	bytes uint64
	since time.Time
}

func newStallWatch(m *stream.Meter, limit time.Duration) *stallWatch {
	return &stallWatch{meter: m, limit: limit, bytes: m.Snapshot().Bytes, since: time.Now()}
}

func (s *stallWatch) check() error {
	if b := s.meter.Snapshot().Bytes; b != s.bytes {
		s.bytes, s.since = b, time.Now()
	}
	if time.Since(s.since) > s.limit {
		return &fault.Error{Op: fmt.Sprintf("no payload byte for %v, after %d bytes", s.limit, s.bytes),
			How: "check the link and the other end; its own message says more if it still lives"}
	}
	return nil
}

// flowError is what the data path itself reported.
func (r *run) flowError() error {
	switch {
	case r.result.err != nil:
		return r.result.err
	case r.result.farewell != nil:
		return r.result.farewell
	}
	return nil
}

// take reads the counters at an edge. The flow's bytes and the clock are read
// next to the CPU columns, which lie on the window's side.
func (r *run) take(e *edge, end bool) error {
	cfg := counter.Config{CPUs: r.end.spec.MeasureCPUs, Dev: r.end.spec.Dev, Sockets: r.end.sockets(),
		Threads: map[string]int{"data_path": r.end.first().worker.tid}, End: end, PMU: r.pmu, Pollers: r.pollers}
	if end {
		e.flows, e.times, e.atNs = r.end.counters(), r.end.first().Meter.Times(), monotonic()
	}
	if !end {
		e.timed, e.probe, e.nic = bpf.ReadTimed(), r.end.probes.read(false), r.nic.read()
	}
	var err error
	e.host, err = counter.Take(cfg)
	if end {
		e.nic, e.probe, e.timed = r.nic.read(), r.end.probes.read(true), bpf.ReadTimed()
	} else {
		e.flows, e.times, e.atNs = r.end.counters(), r.end.first().Meter.Times(), monotonic()
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
	h.Env.Congestion, h.Env.UringEngine = r.congestion, r.result.evidence.UringEngine
	if cpu := r.end.first().CPU; cpu >= 0 {
		h.Env.AppCPU = counter.FormatCPUList([]int{cpu})
	}
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
	r.fillFlow(&h)
	h.Probes, warn = r.end.probes.figures(r.from.probe, r.to.probe, *h.Bytes)
	r.warnings = append(r.warnings, warn...)
	return h
}
