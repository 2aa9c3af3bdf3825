// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/zcbench/zcbench/bench/endpoint"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
)

// Runner runs cells between two hosts.
type Runner struct {
	SUT, TG *host.Host
	Opt     Options
	Session string
	// ForCell changes the options for one cell; nil leaves them.
	ForCell func(plan.Cell, Options) Options
	// Observe, unless nil, is called before each run, and what it returns after it, with
	// the record.
	Observe func() func(*results.Record)
	Power   *PowerMeter // nil: power is not measured
	// how long an end waits for the other, and for the last of the flow; 0: [peerWait] and
	// [endGrace]; no less than Opt.Stall, where that is long
	Wait  time.Duration
	Grace time.Duration // how much longer than its schedule a run may take to be answered; 0: [runGrace]
	Close time.Duration // how long an end may take to be freed once nobody wants its run; 0: [closeGrace]

	env   *hostSnapshots // what the hosts are like; nil: nobody asks
	rests *restMeter
	// how long what is under way at a turn's end takes to arrive, by the numbers of the groups
	drains map[int]time.Duration
	seq    int
	start  int                // of the agents, from 1, where they are started anew for each block; else 0
	now    inForce            // what is set on the hosts
	lost   map[*host.Host]int // runs on end in which its agent was lost

	carried map[*host.Host]bool // has the program that makes memory of GPUs
}

// Run runs one repetition and returns its record; what went wrong is in the
// verdict. Ending ctx aborts the run.
func (r *Runner) Run(ctx context.Context, p matrix.Run) results.Record {
	defer func(o Options) { r.Opt = o }(r.Opt)
	r.Opt = r.optionsOf(p.Cell)
	rec := r.record(p)
	// The settings first: the hosts are to rest with them, too.
	out, ready := r.ready(ctx, p.Cell)
	rests := r.resting()
	var before *[2]wire.Rest
	if ready {
		r.Power.before(ctx, p.Warmup)
		before = rests.before(ctx, p.Warmup)
	}
	after := func(*results.Record) {}
	if r.Observe != nil {
		after = r.Observe()
	}
	if ready {
		r.flow(ctx, p, &out)
	}
	out.calledOff = context.Cause(ctx)
	r.fill(&rec, out)
	r.env.mark(&rec, p.Cell)
	judge.Conclude(&rec)
	markPace(&rec, p)
	after(&rec)
	one := []results.Record{rec}
	r.Power.after(ctx, one, []outcome{out}, r.Opt.IdleDrift)
	rests.after(ctx, &one[0], before, out)
	return one[0]
}

// optionsOf returns the options of a cell's runs.
func (r *Runner) optionsOf(c plan.Cell) Options {
	o := r.Opt.ofTurns(&c)
	if r.ForCell == nil {
		return o
	}
	return r.ForCell(c, o)
}

// record begins the record of a run.
func (r *Runner) record(p matrix.Run) results.Record {
	rec := results.Record{Schema: results.SchemaVersion, RunID: fmt.Sprintf("%s-%05d", r.Session, r.seq),
		SessionID: r.Session,
		Cell:      r.Opt.noted(p.Cell), Block: p.Block, Seq: r.seq, Rep: p.Rep, Warmup: p.Warmup, Try: p.Try,
		Start: r.start}
	r.seq++
	rec.SUT = results.Host{Name: r.SUT.Spec.Name, Env: r.SUT.Info.Env}
	rec.TG = results.Host{Name: r.TG.Spec.Name, Env: r.TG.Info.Env}
	r.env.mark(&rec, p.Cell)
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
	out.warnings = r.env.look(ctx, &r.Opt, r.SUT, r.TG, c)
	return out, true
}

// spec specifies an end. A flow that goes on after others' turns is to be as fast as it was: that
// of a congestion control which settles by what it measures (BBR) would not. Who is made alone
// beside cells that take turns has the same one.
func (r *Runner) spec(c plan.Cell, role stream.Role, addr string, cookie stream.Cookie) wire.EndSpec {
	c.LossFree = false // to an end what is tried is a pace as any other
	s := r.Opt.end(c, role, addr)
	if m, err := modes.Find(role, s.Mode()); err == nil && r.Opt.Turn > 0 && m.Kind == stream.Stream &&
		s.Cell.Congestion == "" {
		s.Cell.Congestion = steadyCongestion
	}
	s.Cookie = cookie
	r.placeEnd(&s)
	return s
}

// end specifies one end of a cell's flow.
func (o Options) end(c plan.Cell, role stream.Role, addr string) wire.EndSpec {
	s := wire.EndSpec{Role: role, Cell: c, Addr: addr, Dev: o.SUTDev, Upper: o.SUTUpper.name(),
		Flows: unpinned(c.NFlows()), SampleMs: int(o.SampleInterval.Milliseconds())}
	s.More = o.lanesOf(role, addr)
	if role == stream.TX {
		s.Dev, s.Upper = o.TGDev, o.TGUpper.name()
		return s
	}
	s.Inside = o.container.inside()
	s.Cell.OnLease()
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
