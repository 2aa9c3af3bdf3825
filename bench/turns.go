// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// The parts of a turn beside the one that is measured as the flow's rate.
const (
	turnSettles = 4 * time.Millisecond  // in which a flow that goes on again gets to its pace, see settles
	turnDrains  = 20 * time.Millisecond // in which what is under way arrives, as long as it is not known
	turnReads   = wire.TurnReads        // before it, in which counters are read, and as long after it
)

const (
	turnsBegin = 100 * time.Millisecond // in which the flows are opened
	turnsOpen  = 10 * time.Millisecond  // and each of them
	turnsRest  = 20 * time.Millisecond  // at both edges of the window, in which nobody has a turn
	leastDrain = 4 * time.Millisecond
	mostDrain  = 80 * time.Millisecond
)

// settles returns in which part of a turn the flow gets to its pace: as a path's delay is in it,
// long turns have a longer one.
func settles(turn time.Duration) time.Duration { return max(turnSettles, turn/15) }

// timetable is when each of several cells has its turns, from the start of them all.
type timetable struct {
	settles         time.Duration
	on, drain, lead time.Duration
	at              [][]time.Duration // of each cell: when its turns begin
	from, to        time.Duration     // the window; turns before it are the ramp
	turns           int               // of each, in the window
}

// timetable gives n cells their turns: each has the ramp, and then the window, in its turns.
func (o *Options) timetable(n int, window, drain, unsure time.Duration) timetable {
	t := timetable{settles: settles(o.Turn), drain: drain, lead: turnReads + o.reads + unsure,
		at: make([][]time.Duration, n)}
	t.on = t.settles + o.Turn
	now := turnsBegin + time.Duration(n)*turnsOpen
	play := func(rounds int) {
		for round := range rounds {
			for _, i := range matrix.ThereAndBack(n, round) {
				t.at[i] = append(t.at[i], now+t.lead)
				now += t.lead + t.on + t.drain + turnReads + o.reads
			}
		}
		now += turnsRest
	}
	play(matrix.RoundsOf(o.RampUp, o.Turn))
	t.from, now = now, now+turnsRest
	rounds := matrix.RoundsOf(window, o.Turn)
	play(rounds)
	t.to, t.turns = now, 2*rounds
	return t
}

// apart makes a timetable anew for clocks that part while it lasts.
func (o *Options) apart(t *timetable, window, unsure time.Duration) timetable {
	longer := *t
	for range 3 { // what it lasts longer by that is less each time
		longer = o.timetable(len(t.at), window, t.drain, unsure+host.ClocksPart(longer.length()))
	}
	return longer
}

// length returns how long all is under way.
func (t *timetable) length() time.Duration { return t.to + turnsRest }

// drainNext returns how long what is under way at a turn's end is given to arrive in the next
// start: half as long again as it took nine of ten turns of the slowest end. Ends that did not have
// all their turns teach nothing.
func (t *timetable) drainNext(all []*starting) time.Duration {
	took, taught := time.Duration(0), false
	for _, x := range all {
		for _, end := range []struct {
			res *wire.EndResult
			err error
		}{{&x.out.sut, x.out.sutErr}, {&x.out.tg, x.out.tgErr}} {
			v := end.res.Verdict
			if end.err != nil || v != results.OK && v != results.Invalid || end.res.Turns == nil ||
				end.res.Turns.Turns != t.turns {
				continue
			}
			took, taught = max(took, time.Duration(end.res.Turns.DrainedNs)), true
		}
	}
	if !taught {
		return t.drain
	}
	return min(max(took*3/2, leastDrain), mostDrain)
}

// of translates the turns of a cell to the clock of a host.
func (t *timetable) of(i int, startNs int64) *wire.Turns {
	w := &wire.Turns{OnNs: t.on.Nanoseconds(), SettleNs: t.settles.Nanoseconds(), DrainNs: t.drain.Nanoseconds(),
		LeadNs: t.lead.Nanoseconds()}
	for _, at := range t.at[i] {
		w.AtNs = append(w.AtNs, startNs+at.Nanoseconds())
	}
	return w
}

// starting is a cell of several that are started together.
type starting struct {
	run    matrix.Run
	end    wire.EndRef      // at both hosts
	queues *wire.QueueShare // of the receiver's
	out    outcome
	reads  time.Duration // what its ends take to read their probes
	opened bool
}

// RunTogether makes one repetition of each of several cells, which take turns, and returns their
// records: all are opened, and then one is on at a time. One that fails says so in its record, and
// the others go on.
func (r *Runner) RunTogether(ctx context.Context, ps []matrix.Run) (recs []results.Record) {
	defer func(o Options) { r.Opt = o }(r.Opt)
	cells := cellsOf(ps)
	set, queues := saysMost(cells), shareQueues(cells)
	r.Opt = r.optionsOf(set)
	all := make([]starting, len(ps))
	for i, p := range ps {
		all[i] = starting{run: p, end: wire.EndRef{End: i + 1}, queues: queues[i]}
		recs = append(recs, r.record(p))
		recs[i].Start = p.Rep + 1 // all is opened anew
	}
	out, ready := r.ready(ctx, set)
	for i := range all {
		all[i].out = out
		if ready && i > 0 {
			all[i].out.warnings = r.env.look(ctx, &r.Opt, r.SUT, r.TG, ps[i].Cell)
		}
	}
	rests := r.resting()
	var before *[2]wire.Rest
	if ready {
		r.Power.before(ctx, ps[0].Warmup)
		before = rests.before(ctx, ps[0].Warmup)
		r.flowTogether(ctx, all, recs)
	}
	noteSplit(all)
	var outs []outcome
	window := false // one was measured, and so is the rest after it
	for i := range all {
		x, rec := &all[i], &recs[i]
		x.out.calledOff = context.Cause(ctx)
		r.fill(rec, x.out)
		r.env.mark(rec, x.run.Cell)
		judge.Conclude(rec)
		markPace(rec, x.run)
		window = window || !rec.Warmup && x.out.sut.ToNs != 0
		outs = append(outs, x.out)
	}
	r.Power.after(ctx, recs, outs, r.Opt.IdleDrift)
	if rests != nil && window {
		rests.rest(ctx)
		for i := range recs {
			rests.fill(&recs[i], before)
		}
	}
	warnBuffers(recs)
	return recs
}

// alikeBuffers is by how much receive buffers of a start may differ.
const alikeBuffers = 2

// warnBuffers says of records of a start whose receive buffers were held at other sizes than those
// beside them that the rates may be the buffers'. What has a pace has a rate of its own.
func warnBuffers(recs []results.Record) {
	held := func(r *results.Record) float64 {
		n := r.SUT.Value("turns_receive_buffer_bytes")
		if r.Cell.Paced() || r.Verdict != results.OK || !(n > 0) {
			return 0
		}
		return n
	}
	for i := range recs {
		own := held(&recs[i])
		worst, by := 0, float64(alikeBuffers)
		for j := range recs {
			n := held(&recs[j])
			if own > 0 && n > 0 && max(own/n, n/own) > by {
				worst, by = j, max(own/n, n/own)
			}
		}
		if by > alikeBuffers {
			recs[i].Warnings = append(recs[i].Warnings, fmt.Sprintf("SUT: the receive buffer was held at %.1f MB, and "+
				"that of %s, which took turns with it, at %.1f MB: their rates may be the buffers' (rcvbuf gives "+
				"all the same)", own/1e6, recs[worst].Cell.ID, held(&recs[worst])/1e6))
		}
	}
}

// noteSplit says of flows that leave header split as found that it was on, as modes beside them
// that take a queue over want it.
func noteSplit(all []starting) {
	if !slices.ContainsFunc(all, func(x starting) bool { return x.opened && x.run.Cell.TakesQueues() }) {
		return
	}
	for i := range all {
		if c := &all[i].run.Cell; all[i].opened && !c.SplitsItself() && c.HeaderSplit == nil {
			all[i].out.warnings = append(all[i].out.warnings, splitBeside)
		}
	}
}

// splitBeside is said of such a flow.
const splitBeside = "headers were split for this cell too (tcp-data-split on): it took turns with modes that take " +
	"a queue over, and header split is the NIC's"

// flowTogether opens the ends of all cells, lets them take turns, and closes them.
func (r *Runner) flowTogether(ctx context.Context, all []starting, recs []results.Record) {
	if sutErr, tgErr := r.SUT.SyncClock(ctx), r.TG.SyncClock(ctx); sutErr != nil || tgErr != nil {
		for i := range all {
			all[i].out.sutErr, all[i].out.tgErr = sutErr, tgErr
		}
		return
	}
	var free []func()
	defer func() { // the last first: what an end changed stands on what those before it did
		for _, f := range slices.Backward(free) {
			f()
		}
	}()
	var cells []plan.Cell
	for i := range all {
		cells = append(cells, all[i].run.Cell)
	}
	for _, i := range takersFirst(cells) {
		r.openPair(ctx, &all[i], &free)
	}
	var open []*starting
	for i := range all {
		if all[i].opened {
			open = append(open, &all[i])
		}
	}
	if len(open) == 0 {
		return
	}
	window, group := r.Opt.window(all[0].run), all[0].run.Group
	unsure := time.Duration(r.SUT.UncertaintyNs + r.TG.UncertaintyNs)
	drain := cmp.Or(r.drains[group], turnDrains)
	r.Opt.reads = 0
	for _, x := range open {
		r.Opt.reads = max(r.Opt.reads, x.reads)
	}
	window = r.Opt.refit(len(open), window, drain, unsure)
	t := r.Opt.timetable(len(open), window, drain, unsure)
	if !oneClock(r.SUT, r.TG) {
		t = r.Opt.apart(&t, window, unsure)
	}
	if err := r.Opt.readsFit(&t); err != nil {
		for _, x := range open {
			x.out.sutErr = err
		}
		return
	}
	delay := delay(r.SUT, r.TG)
	startNs := host.Monotonic() + int64(delay)
	startUTC := time.Now().Add(delay + t.from).UnixNano()
	var running sync.WaitGroup
	for i, x := range open {
		x.out.startUTCNs = startUTC
		running.Go(func() {
			r.runEnds(ctx, r.patience(delay+t.length()), func(h *host.Host) wire.Schedule {
				return r.turnSchedule(h, x.end, startNs, &t, i)
			}, &x.out)
		})
	}
	running.Wait()
	for _, x := range open {
		x.out.timeClocks(ctx, r.SUT, r.TG)
	}
	if r.drains == nil {
		r.drains = map[int]time.Duration{}
	}
	r.drains[group] = t.drainNext(open)
	for i := range all {
		if all[i].opened {
			recs[i].Turns = &results.Turns{TurnNs: r.Opt.Turn.Nanoseconds(), Turns: t.turns, Cells: len(open),
				WindowNs: (t.to - t.from).Nanoseconds()}
		}
	}
}

// readsFit refuses a start that reading the probes makes too long: its plan did not know of that.
func (o *Options) readsFit(t *timetable) error {
	if o.reads == 0 || t.length() <= matrix.MostStart {
		return nil
	}
	return &fault.Error{Op: fmt.Sprintf("reading the probes takes up to %v at each edge of a turn, with which the "+
		"start would last %v, at most %v may be", o.reads, t.length().Round(time.Second), matrix.MostStart),
		How: "use fewer probes, a shorter duration, or longer turns"}
}

// openPair opens both ends of a cell, and adds to free what frees them.
func (r *Runner) openPair(ctx context.Context, x *starting, free *[]func()) {
	out, cookie, port := &x.out, stream.NewCookie(), r.Opt.Port
	if port != 0 {
		port += x.end.End - 1
	}
	addr := net.JoinHostPort(r.Opt.Addr, fmt.Sprint(port))
	limit := cmp.Or(r.Close, closeGrace)
	var opened wire.Opened
	// Also after an error: who is called off here does not know whether the agent has opened it.
	*free = append(*free, func() { freeEnd(ctx, r.SUT, x.end.End, limit, &out.sutErr) })
	if out.sutErr = r.openEnd(ctx, r.SUT, r.turnSpec(x, stream.RX, addr, cookie), &opened); out.sutErr != nil {
		return
	}
	if addr, out.sutErr = r.dataPort(opened, port); out.sutErr != nil {
		return
	}
	*free = append(*free, func() { freeEnd(ctx, r.TG, x.end.End, limit, &out.tgErr) })
	var other wire.Opened
	if out.tgErr = r.openEnd(ctx, r.TG, r.turnSpec(x, stream.TX, addr, cookie), &other); out.tgErr != nil {
		return
	}
	x.opened, x.reads = true, time.Duration(max(opened.ReadsNs, other.ReadsNs))
}

// turnSpec specifies an end that has turns.
func (r *Runner) turnSpec(x *starting, role stream.Role, addr string, cookie stream.Cookie) wire.EndSpec {
	s := r.spec(x.run.Cell, role, addr, cookie)
	s.EndRef, s.Shares = x.end, true
	if role == stream.RX {
		s.Beside = x.queues
	}
	return s
}

// steadyCongestion is a congestion control that goes on where it was.
const steadyCongestion = "cubic"

// turnSchedule translates a cell's timetable to the clock of h.
func (r *Runner) turnSchedule(h *host.Host, end wire.EndRef, startNs int64, t *timetable, i int) wire.Schedule {
	s := r.schedule(h, startNs, 0)
	start := s.StartNs
	s.EndRef, s.Turns = end, t.of(i, start)
	s.FromNs, s.ToNs, s.StopNs = start+t.from.Nanoseconds(), start+t.to.Nanoseconds(), start+t.length().Nanoseconds()
	return s
}
