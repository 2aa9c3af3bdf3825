// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/zcbench/zcbench/bench/endpoint"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// Options are what the runs of a session have in common.
type Options struct {
	Duration time.Duration // of the steady window
	// Bytes, unless 0, bounds a flow by its payload instead, all of which is measured;
	// Duration is the time that it may take then.
	Bytes    uint64
	RampUp   time.Duration // cut before it
	RampDown time.Duration // cut after it

	Addr          string // the SUT's address on the path to be measured, without port
	Port          int    // of the data port; 0 takes a free one
	TGZone        string // the TG's interface on the link of an Addr that holds on one link alone (fe80::)
	SUTDev, TGDev string // interfaces whose queues and counters belong to the run; "" for none
	// SUTUpper and TGUpper have the flow's address and route, where that is another
	// interface; nil where not.
	SUTUpper, TGUpper *Upper
	SharedWithSSH     bool // the flow may share the interface by which ssh reaches a host
	// SUTFlows and TGFlows are the CPUs of each flow: of its thread, -1 does not pin it, and
	// where its softirq goes in a cell with two CPUs; with one it goes to the thread's. None
	// is one flow that is not placed.
	SUTFlows, TGFlows []place.CPUs

	MTU            int      // of the path
	NoteMTU        bool     // records have it, where a cell says nothing of it
	MaxCopied      *float64 // fraction; nil is the default
	IdleDrift      *float64 // the gate's limit for that of idle power, a fraction; nil: none
	SampleInterval time.Duration
	Stall          time.Duration
	WarmupDuration time.Duration // window of a warm-up run; 0: Duration
	Rest           time.Duration // between runs, in which the CPUs' background is measured; 0: it is not

	near  [2][]int // the CPUs near the interface of the SUT and the TG
	may   [2][]int // those of them, or of the NUMA node that was asked for, that flows are given
	other [2][]int // those beside may that are of another class of a hybrid processor: the last resort
	far   [2][]int // those on other NUMA nodes, one of each core
	named [2][]int // the CPUs that were named for their threads, for several flows in turn
	// layoutNamed: the CPUs of the cell's layout were named, of the SUT and the TG.
	layoutNamed [2]bool
	nodes       [2]*int  // the NUMA nodes that were asked for, of the SUT and the TG; nil: none
	rxQueues    [2][]int // those of the interfaces, as they were found; nil: not known
	found       [2]port  // the interfaces themselves

	// SUTSettings and TGSettings are set on the hosts while they measure; see
	// Runner.Settings for what a cell adds.
	SUTSettings, TGSettings matrix.Settings
}

// Runner runs cells between two hosts.
type Runner struct {
	SUT, TG *host.Host
	Opt     Options
	Session string
	// ForCell changes the options for one cell; nil leaves them.
	ForCell func(plan.Cell, Options) Options
	// Around, unless nil, is called before each run, and what it returns after it, with
	// the record.
	Around func() func(*results.Record)
	Power  *PowerMeter // nil: power is not measured
	// how long an end waits for the other, and for the last of the flow; 0: [peerWait] and
	// [endGrace]; no less than Opt.Stall, where that is long
	Wait  time.Duration
	Grace time.Duration // how much longer than its schedule a run may take to be answered; 0: [runGrace]
	Close time.Duration // how long an end may take to be freed once nobody wants its run; 0: [closeGrace]

	env    *surroundings // what the hosts are like; nil: nobody asks
	rests  *restMeter
	seq    int
	hasSet bool               // something may be set on the hosts
	now    inForce            // what that is
	lost   map[*host.Host]int // runs on end in which its agent was lost
}

// runGrace is for what an agent does when the flow is over: it reads counters, and
// frees what the data path held.
const runGrace = 15 * time.Second

// peerWait and endGrace are how long an end waits for the other one to come, and
// for the last of the flow. Tests shorten them.
var (
	peerWait = 10 * time.Second
	endGrace = 10 * time.Second
)

// usualStall is what an end takes when nobody says, and what files and flags have by themselves.
const usualStall = 10 * time.Second

// startDelay is how far ahead of the controller's clock a run starts, so that
// both agents know of it in time. A slow link adds to it, see [Runner.delay].
const startDelay = 20 * time.Millisecond

// delay returns startDelay and two round trips to the farther host.
func (r *Runner) delay() time.Duration {
	return startDelay + 4*time.Duration(max(r.SUT.UncertaintyNs, r.TG.UncertaintyNs))
}

// Run runs one repetition and returns its record; what went wrong is in the
// verdict. Ending ctx aborts the run.
func (r *Runner) Run(ctx context.Context, p matrix.Run) results.Record {
	defer func(o Options) { r.Opt = o }(r.Opt)
	r.Opt = r.optionsOf(p.Cell)
	rec := r.record(p)
	// The settings first: the hosts are to rest with them, too.
	out, ready := r.ready(ctx, p.Cell)
	var before *[2]wire.Rest
	if ready {
		before = r.restBefore(ctx, p.Warmup)
	}
	after := func(*results.Record) {}
	if r.Around != nil {
		after = r.Around()
	}
	if ready {
		r.flow(ctx, p, &out)
	}
	out.calledOff = context.Cause(ctx)
	r.fill(&rec, out)
	r.mark(&rec, p.Cell)
	judge.Conclude(&rec)
	markPace(&rec, p)
	after(&rec)
	r.restAfter(ctx, &rec, before, out)
	return rec
}

// optionsOf returns the options of a cell's runs.
func (r *Runner) optionsOf(c plan.Cell) Options {
	if r.ForCell == nil {
		return r.Opt
	}
	return r.ForCell(c, r.Opt)
}

// record begins the record of a run.
func (r *Runner) record(p matrix.Run) results.Record {
	rec := results.Record{Schema: results.SchemaVersion, RunID: fmt.Sprintf("%s-%05d", r.Session, r.seq),
		SessionID: r.Session,
		Cell:      r.Opt.noted(p.Cell), Block: p.Block, Seq: r.seq, Rep: p.Rep, Warmup: p.Warmup}
	r.seq++
	rec.SUT = results.Host{Name: r.SUT.Spec.Name, Env: r.SUT.Info.Env}
	rec.TG = results.Host{Name: r.TG.Spec.Name, Env: r.TG.Info.Env}
	r.mark(&rec, p.Cell)
	return rec
}

// Unsupported records a cell that cannot run, without trying.
func (r *Runner) Unsupported(p matrix.Run, m *Missing) results.Record {
	rec := r.record(p)
	rec.Verdict, rec.Reason, rec.Fix, rec.Blocked = results.Unsupported, m.Reason, m.Fix, m.Blocked
	return rec
}

// outcome is what both ends said about a run.
type outcome struct {
	sut, tg       wire.EndResult
	sutErr, tgErr error
	calledOff     error // why the controller called the run off
	startUTCNs    int64 // of the steady window
	path          *results.AlongPath
	clockUs       *float64 // how far its delivery times may be off; nil: not known
	warnings      []string
}

// ready sets what a cell needs on the hosts, and looks what they are like with it.
func (r *Runner) ready(ctx context.Context, c plan.Cell) (out outcome, ok bool) {
	if out.sutErr, out.tgErr = r.apply(ctx, c); out.sutErr != nil || out.tgErr != nil {
		return out, false
	}
	out.warnings = r.look(ctx, c)
	return out, true
}

// flow opens both ends, runs them and closes them.
func (r *Runner) flow(ctx context.Context, p matrix.Run, out *outcome) {
	// After settings and rest: while a link comes back, and in a long rest, the clocks drift.
	if out.sutErr, out.tgErr = r.SUT.SyncClock(ctx), r.TG.SyncClock(ctx); out.sutErr != nil || out.tgErr != nil {
		return
	}
	cookie := stream.NewCookie()
	var opened wire.Opened
	addr := net.JoinHostPort(r.Opt.Addr, fmt.Sprint(r.Opt.Port))
	if out.sutErr = r.SUT.Call(ctx, wire.OpOpen, r.spec(p.Cell, stream.RX, addr, cookie), &opened); out.sutErr != nil {
		return
	}
	defer r.close(ctx, r.SUT, &out.sutErr)
	if addr, out.sutErr = r.dataPort(opened); out.sutErr != nil {
		return
	}
	if out.tgErr = r.TG.Call(ctx, wire.OpOpen, r.spec(p.Cell, stream.TX, addr, cookie), nil); out.tgErr != nil {
		return
	}
	defer r.close(ctx, r.TG, &out.tgErr)
	r.runBoth(ctx, p, out)
	r.timesClocks(ctx, out)
}

// dataPort returns where the TG is to connect: to the SUT's address on the path, and to nowhere
// else that the SUT may name.
func (r *Runner) dataPort(o wire.Opened) (string, error) {
	got, err := netip.ParseAddrPort(o.Addr)
	want, werr := netip.ParseAddr(r.Opt.Addr)
	switch {
	case err != nil, werr != nil, got.Addr().Unmap().WithZone("") != want.Unmap().WithZone(""), r.Opt.Port != 0 &&
		int(got.Port()) != r.Opt.Port:
		r.SUT.Distrust(fmt.Errorf("open: it listens on %q instead of %s port %d", o.Addr, r.Opt.Addr, r.Opt.Port))
		return "", r.SUT.Err()
	}
	return r.Opt.forTG(got), nil
}

// closeGrace is how long an end may take to be freed once nobody wants its run any
// more.
const closeGrace = 8 * time.Second

// close frees an end, also when the run's context has ended: then one that does not
// answer soon is given up.
func (r *Runner) close(ctx context.Context, h *host.Host, err *error) {
	freed := make(chan struct{})
	defer close(freed)
	stop := context.AfterFunc(ctx, func() {
		limit := cmp.Or(r.Close, closeGrace)
		late := time.NewTimer(limit)
		defer late.Stop()
		select {
		case <-freed:
		case <-late.C:
			h.GiveUp(fmt.Sprintf("the run was aborted, but it did not free its end within %v",
				limit))
		}
	})
	defer stop()
	if cerr := h.Call(context.Background(), wire.OpClose, nil, nil); cerr != nil && *err == nil {
		*err = cerr
	}
}

func (r *Runner) spec(c plan.Cell, role stream.Role, addr string, cookie stream.Cookie) wire.EndSpec {
	c.LossFree = false // to an end what is tried is a pace as any other
	s := r.Opt.end(c, role, addr)
	s.Cookie = cookie
	r.placeEnd(&s)
	return s
}

// end specifies one end of a cell's flow.
func (o Options) end(c plan.Cell, role stream.Role, addr string) wire.EndSpec {
	s := wire.EndSpec{Role: role, Cell: c, Addr: addr, Dev: o.SUTDev, Upper: o.SUTUpper.name(),
		Flows: unpinned(c.NFlows()), SampleMs: int(o.SampleInterval.Milliseconds())}
	if role == stream.TX {
		s.Dev, s.Upper = o.TGDev, o.TGUpper.name()
	}
	return s
}

// Check refuses a cell that no two hosts could run.
func Check(c plan.Cell) error {
	var o Options
	return cmp.Or(endpoint.Check(o.end(c, stream.RX, "127.0.0.1:0")),
		endpoint.Check(o.end(c, stream.TX, "127.0.0.1:1")))
}

// unpinned makes flows that nobody has placed yet.
func unpinned(flows int) []wire.FlowSpec {
	return slices.Repeat(wire.OneFlow(place.NoCPUs.App), flows)
}

// first returns the CPUs of the only flow.
func first(all []place.CPUs) place.CPUs {
	if len(all) == 0 {
		return place.NoCPUs
	}
	return all[0]
}

// noted converts a cell to the form of records.
func (o Options) noted(c plan.Cell) plan.Cell {
	if o.NoteMTU && c.MTU == 0 {
		c.MTU = o.MTU
	}
	return c
}

// runBoth starts both ends on one clock and waits for both. When one fails, the
// other is called off: it would only wait for nothing. One that does not answer
// long after its schedule is given up.
func (r *Runner) runBoth(ctx context.Context, p matrix.Run, out *outcome) {
	follow := r.along(ctx, p.Cell)
	defer func() { follow.end(out) }()
	if r.Opt.Bytes > 0 {
		follow.beginWhole() // before the start is told: far hosts take their time
	}
	delay := r.delay()
	startNs := host.Monotonic() + int64(delay)
	window := r.Opt.window(p)
	out.startUTCNs = time.Now().Add(delay + r.Opt.RampUp).UnixNano()
	limit := delay + r.Opt.RampUp + window + r.Opt.RampDown + r.wait(peerWait) + r.wait(endGrace) + 2*r.hint() +
		r.grace()
	type answer struct {
		h   *host.Host
		res wire.EndResult
		err error
	}
	if r.Opt.Bytes == 0 {
		follow.begin(ctx, startNs+int64(r.Opt.RampUp), window)
	}
	answers := make(chan answer, 2)
	var calling sync.WaitGroup // off: none may reach the next run
	ended := map[*host.Host]chan struct{}{r.SUT: make(chan struct{}), r.TG: make(chan struct{})}
	call := func(h *host.Host) {
		a, sch := answer{h: h}, r.schedule(h, startNs, window)
		// Aborting goes through OpAbort, so that the end's own account comes back.
		a.err = h.CallWithin(context.WithoutCancel(ctx), limit, wire.OpRun, sch, &a.res)
		if a.err == nil {
			a.err = r.plausible(h, sch, &a.res)
		}
		close(ended[h])
		answers <- a
	}
	go call(r.SUT)
	go call(r.TG)
	off := func(h *host.Host) { calling.Go(func() { r.callOff(h, ended[h]) }) }
	calling.Add(1)
	stop := context.AfterFunc(ctx, func() { defer calling.Done(); off(r.SUT); off(r.TG) })
	defer func() {
		if stop() {
			calling.Done()
		}
		calling.Wait()
	}()
	for n := range 2 {
		a := <-answers
		if a.h == r.SUT {
			out.sut, out.sutErr = a.res, a.err
		} else {
			out.tg, out.tgErr = a.res, a.err
		}
		if bad := a.err != nil || a.res.Verdict == results.Failed; bad && n == 0 {
			off(r.other(a.h))
		}
	}
}

// wait returns how long to wait for the other end, or for the last of the flow. A run whose payload
// may stay away for longer than usual may be as late in these.
func (r *Runner) wait(usual time.Duration) time.Duration {
	usual = cmp.Or(r.Wait, usual)
	if r.Opt.Stall > usualStall {
		return max(usual, r.Opt.Stall)
	}
	return usual
}

// hintTime is how much longer the receiver waits than the sender: that one knows more of what is
// between them (what was answered, what was acknowledged), and has to be the first to give up.
const hintTime = 2 * time.Second

// hint adds to hintTime what the start, the sender's answer and the receiver's calling off take on
// the way, in whole seconds: errors show it.
func (r *Runner) hint() time.Duration { return (hintTime + 3*r.delay()).Truncate(time.Second) }

func (r *Runner) grace() time.Duration { return cmp.Or(r.Grace, runGrace) }

// plausible refuses an account of a window that nobody asked for.
func (r *Runner) plausible(h *host.Host, sch wire.Schedule, res *wire.EndResult) error {
	if res.Verdict == results.OK && res.Total.Bytes < sch.StopBytes {
		h.Distrust(fmt.Errorf("run: %d bytes instead of %d", res.Total.Bytes, sch.StopBytes))
		*res = wire.EndResult{}
		return h.Err()
	}
	if sch.StopBytes > 0 {
		return nil
	}
	asked := sch.ToNs - sch.FromNs
	if got := res.ToNs - res.FromNs; res.Verdict == results.OK && (got < asked/2 || got > 2*asked) {
		h.Distrust(fmt.Errorf("run: a window of %v instead of %v", time.Duration(got), time.Duration(asked)))
		*res = wire.EndResult{}
		return h.Err()
	}
	return nil
}

func (r *Runner) other(h *host.Host) *host.Host {
	if h == r.SUT {
		return r.TG
	}
	return r.SUT
}

// callOff aborts the run of an end. One that does not end by that either is given
// up.
func (r *Runner) callOff(h *host.Host, ended <-chan struct{}) {
	if h.Call(context.Background(), wire.OpAbort, nil, nil) != nil {
		return // it is gone, or is now
	}
	late := time.NewTimer(r.grace())
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C:
		h.GiveUp(fmt.Sprintf("its run was aborted, but did not end within %v", r.grace()))
	}
}

// schedule translates the run's times from the controller's clock to h's.
func (r *Runner) schedule(h *host.Host, startNs int64, window time.Duration) wire.Schedule {
	start := startNs + r.offset(h)
	from := start + int64(r.Opt.RampUp)
	to := from + int64(window)
	s := wire.Schedule{StartNs: start, FromNs: from, ToNs: to, StopNs: to + int64(r.Opt.RampDown),
		PeerWaitNs: int64(r.wait(peerWait)), GraceNs: int64(r.wait(endGrace)), StallNs: int64(r.Opt.Stall),
		MaxCopiedFrac: r.Opt.MaxCopied}
	if r.Opt.Bytes > 0 {
		s.FromNs, s.ToNs, s.StopBytes = 0, 0, r.Opt.Bytes
	}
	if h == r.SUT { // it waits from now on, the sender from the start
		s.PeerWaitNs += int64(r.hint())
		s.GraceNs += int64(r.hint())
		s.StallNs = int64(cmp.Or(r.Opt.Stall, usualStall) + r.hint())
	}
	return s
}
