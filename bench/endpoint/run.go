// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/rounds"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/machine/tally"
	"github.com/zcbench/zcbench/results"
)

// run is the flows of an end under way.
type run struct {
	meters
	end   *End
	sch   wire.Schedule
	start flowStart // of the first flow

	startNs    int64 // all flows were open
	lastOpen   *flow // who was the last
	left       int   // flows that have not ended
	died       *flow // the first that ended with an error, by which all end; nil: none
	from, to   edge
	stall      *stallWatch
	sampler    *counter.Sampler
	tcp        *counter.FlowSampler // nil: the probe is not asked for
	change     counter.Change       // of the window
	helpers    []int                // kernel threads that work for the paths, see countHelpers
	watch      *place.Watch         // of the flows' softirq; nil: it is left as found, or was stopped
	unread     *unreadWatch         // nil: nothing is written to files, or there is no window
	queues     *rounds.Watch        // of steered flows; nil: there are none, or it was stopped
	congestion string
	ledger     packetLedger      // of packets
	usage      [2]counter.Rusage // of the process, at the flows' beginning and end
	warnings   []string

	softnet map[int]uint64 // packets that each CPU of the host processed, under a CPU layout

	turns *turnReader // nil: the end is on all the time
}

// edge is the counters at one end of the window.
type edge struct {
	taken  bool
	atNs   int64 // when flow was read
	flows  []stream.Counters
	onward stream.Counters // of all flows, what was passed on
	times  *stream.Times   // of all flows; nil: they are not timed
	host   counter.Snapshot
	probe  probeReading
	napis  []uint32 // at the window's end, see napis
	tally  *tally.Reading
	more   []*tally.Reading // of the interfaces beside the first
	timed  bpf.Timed        // eBPF programs
}

// Run runs the flows once. Ending ctx aborts it. It always returns a result: what
// went wrong is in its verdict.
func (e *End) Run(ctx context.Context, sch wire.Schedule) wire.EndResult {
	if e.back != nil {
		return e.runBoth(ctx, sch)
	}
	return e.run(ctx, sch)
}

// run runs the flows of one way.
func (e *End) run(ctx context.Context, sch wire.Schedule) wire.EndResult {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &run{end: e, sch: sch, meters: e.meters.take()}
	defer r.meters.close()
	r.warnings = slices.Clone(r.missing)
	err := e.begin(cancel)
	if err == nil {
		err = r.do(ctx)
		err = r.stall.because(err) // it is made by do
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
	if err := r.open(ctx); err != nil {
		return err
	}
	defer func() {
		_ = r.end.endPolls() // before queues restart; what is left of it Close tells
		for _, w := range r.end.workers {
			close(w.finish)
		}
	}()
	stop := context.AfterFunc(ctx, r.end.abort)
	defer stop()
	if r.sch.Turns == nil {
		r.startSampler()
	}
	r.startFlowSampler()
	r.startTurns(ctx)
	defer r.turns.stop()
	defer r.tcp.Stop() // before the sockets are closed, which finish does
	if err := r.end.profiler.start(); err != nil {
		r.warnings = append(r.warnings, err.Error())
	}
	calm := hurry()
	err := r.measure(ctx)
	if err != nil {
		r.end.abort()
	}
	r.awaitEnd()
	r.noteUnsplit()
	r.end.probes.endFlow(r.end.streams())
	r.endLedger()
	r.unwatch()
	r.unwatchQueues()
	calm()
	if !r.to.taken && r.from.taken && r.sch.ToNs == 0 {
		err = errors.Join(err, r.take(&r.to, true))
	}
	if err == nil {
		err = r.readBack(ctx)
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
	r.watchQueues()
	if r.sch.ToNs > 0 {
		if err := r.pass(ctx, r.sch.ToNs); err != nil {
			return err
		}
		r.unwatch()
		r.unwatchQueues()
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

// broken reports whether a flow died while payload passed, and not of its last words alone.
func (r *run) broken() bool { return r.died != nil && r.died.result.err != nil }

// over reports whether all flows have ended, or end.
func (r *run) over() bool { return r.left == 0 || r.died != nil }

// anyEnded reports whether a flow has ended, also where others of its thread go on.
func (r *run) anyEnded() bool {
	return r.left < len(r.end.flows) || slices.ContainsFunc(r.end.flows, func(f *flow) bool { return f.EndNs() != 0 })
}

// endNs returns when the last flow ended; 0: one of them has not.
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
	if r.turns != nil || r.end.light || r.take(&e, false) != nil { // before turns nothing passes
		return 0
	}
	return min(e.host.TookNs+e.probe.tookNs+e.tallyNs(), (r.sch.FromNs-r.startNs)/2)
}

// flowError returns the error that the data paths reported: of several, the one that ended the
// others.
func (r *run) flowError() error {
	if r.died == nil {
		return nil
	}
	return r.end.named(r.died, r.died.err())
}

// take reads the counters at an edge. The flow's bytes and the clock are read
// next to the CPU columns, which lie on the window's side.
func (r *run) take(e *edge, end bool) error {
	devs := r.end.spec.Devs()
	cfg := counter.Config{FS: r.end.inside.files(), CPUs: r.end.spec.MeasureCPUs, Dev: devs[0], More: devs[1:],
		Sockets: r.end.streams(),
		Sends:   r.end.spec.Role == stream.TX,
		Threads: r.end.threads(), End: end, Hardware: r.hardware, Pollers: r.pollers, Groups: r.groups,
		Tasks: r.taskReader()}
	if r.turns != nil {
		return r.turns.take(e, cfg)
	}
	if r.end.light {
		r.readFlows(e)
		e.taken = true
		return nil
	}
	if end {
		e.napis = r.napis()
		r.readFlows(e)
	}
	if !end {
		e.timed, e.probe = bpf.ReadTimed(), r.end.probes.read(false)
		r.readTallies(e)
	}
	var err error
	e.host, err = counter.Take(cfg)
	if end {
		r.readTallies(e)
		e.probe, e.timed = r.end.probes.read(true), bpf.ReadTimed()
	} else {
		r.readFlows(e)
	}
	e.taken = err == nil
	return err
}

// readFlows reads the flows' own counters.
func (r *run) readFlows(e *edge) {
	e.flows, e.onward, e.times, e.atNs = r.end.counters(), r.end.onward(), r.end.times(), monotonic()
}

// host fills the figures of the steady window.
func (r *run) host() results.Host {
	env, warn := counter.ReadEnvOf(counter.FS{}, r.end.spec.Devs()...)
	r.warnings = append(r.warnings, warn...)
	h := results.Host{Env: env, Threads: len(r.end.workers)}
	h.Env.Congestion, h.Env.UringEngine = r.congestion, r.end.first().result.evidence.UringEngine
	h.Env.AppCPU = counter.FormatCPUList(r.end.cpus())
	if r.sampler != nil {
		s := r.sampler.Stop(r.from.atNs)
		h.Series, h.Metrics = s.Series, s.Metrics
		r.warnings = append(r.warnings, s.Warnings...)
	}
	drawn := r.addFlowSamples(&h)
	if !r.from.taken || !r.to.taken {
		return h
	}
	if r.end.light {
		r.ofFlows(&h)
		return h
	}
	r.turns.between(&r.from, &r.to)
	h.Series = append(h.Series, r.turns.series(r.from.atNs)...)
	h.Series = append(h.Series, r.courses()...)
	rows, change := counter.Delta(r.from.host, r.to.host)
	h.Metrics = slices.Concat(rows, linkSpeeds(r.end.spec.Devs()), r.ofInterface(&h, rows, change.Idle),
		r.turns.metrics(), h.Metrics)
	r.warnings = slices.Concat(r.warnings, r.turns.warnings(), change.Warnings)
	h.Metrics = append(h.Metrics, change.Background(r.flowCPUs(change))...)
	enterCounters(&h, change.Figures())
	r.change = change
	r.polled(&h)
	r.waited(&h, change)
	r.helped(&h, change.Polled)
	r.aboutCPUs(&h, change)
	h.FlowMHz = change.FlowMHz(r.flowCPUs(change))
	r.placed(&h, change)
	r.fillFlow(&h, change)
	r.turns.scale(&h, change.CPU.WallS)
	h.Probes, warn = r.end.probes.figures(r.seen(), *h.Bytes)
	r.warnings = append(r.warnings, warn...)
	r.addSegments(&h)
	if h.Probes != nil && drawn != nil {
		h.Probes.Flow, h.Probes.FlowCores = thinFlow(h.Series), drawn
	}
	return h
}

// seen returns what the probes saw in the window, or in the turns that count.
func (r *run) seen() *probeSeen {
	if r.turns != nil {
		return &r.turns.probed
	}
	return new(seenBetween(&r.from.probe, &r.to.probe))
}

// ofInterface computes what is counted of the interface and the whole host. Of an end with turns
// tallies are of its turns.
func (r *run) ofInterface(h *results.Host, rows []measure.Metric, idle []string) []measure.Metric {
	seconds := r.turns.seconds(sum(r.to.flows).Sub(sum(r.from.flows)).Bytes, float64(r.to.atNs-r.from.atNs)/1e9)
	return slices.Concat(results.PacketSizes(rows), fragments(),
		r.nic.figures(r.nic.of(r.from.tallies()), r.nic.of(r.to.tallies()), seconds),
		r.tallied(h, idle))
}
