// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

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
// both agents know of it in time. A slow link adds to it, see [delay].
const startDelay = 20 * time.Millisecond

// closeGrace is how long an end may take to be freed once nobody wants its run any
// more.
const closeGrace = 8 * time.Second

// flow opens both ends, runs them and closes them.
func (r *Runner) flow(ctx context.Context, p matrix.Run, out *outcome) {
	// After settings and rest: while a link comes back, and in a long rest, the clocks drift.
	if out.sutErr, out.tgErr = r.SUT.SyncClock(ctx), r.TG.SyncClock(ctx); out.sutErr != nil || out.tgErr != nil {
		return
	}
	cookie := stream.NewCookie()
	var opened wire.Opened
	addr := net.JoinHostPort(r.Opt.Addr, fmt.Sprint(r.Opt.Port))
	if out.sutErr = r.openEnd(ctx, r.SUT, r.spec(p.Cell, stream.RX, addr, cookie), &opened); out.sutErr != nil {
		return
	}
	defer freeEnd(ctx, r.SUT, 0, cmp.Or(r.Close, closeGrace), &out.sutErr)
	if addr, out.sutErr = r.dataPort(opened, r.Opt.Port); out.sutErr != nil {
		return
	}
	if out.tgErr = r.openEnd(ctx, r.TG, r.spec(p.Cell, stream.TX, addr, cookie), nil); out.tgErr != nil {
		return
	}
	defer freeEnd(ctx, r.TG, 0, cmp.Or(r.Close, closeGrace), &out.tgErr)
	r.runBoth(ctx, p, out)
	out.timeClocks(ctx, r.SUT, r.TG)
}

// dataPort returns where the TG is to connect: to the SUT's address on the path, and to nowhere
// else that the SUT may name. A port of 0 is any.
func (r *Runner) dataPort(o wire.Opened, port int) (string, error) {
	got, err := netip.ParseAddrPort(o.Addr)
	want, werr := netip.ParseAddr(r.Opt.Addr)
	switch {
	case err != nil, werr != nil, got.Addr().Unmap().WithZone("") != want.Unmap().WithZone(""), port != 0 &&
		int(got.Port()) != port:
		r.SUT.Distrust(fmt.Errorf("open: it listens on %q instead of %s port %d", o.Addr, r.Opt.Addr, port))
		return "", r.SUT.Err()
	}
	return r.Opt.forTG(got), nil
}

// runBoth starts both ends on one clock and waits for both.
func (r *Runner) runBoth(ctx context.Context, p matrix.Run, out *outcome) {
	follow := countPath(ctx, p.Cell.Path, r.SUT, r.TG)
	defer func() { follow.end(out) }()
	if r.Opt.Bytes > 0 {
		follow.beginWhole() // before the start is told: far hosts take their time
	}
	delay := delay(r.SUT, r.TG)
	startNs := host.Monotonic() + int64(delay)
	window := r.Opt.window(p)
	out.startUTCNs = time.Now().Add(delay + r.Opt.RampUp).UnixNano()
	if r.Opt.Bytes == 0 {
		follow.begin(ctx, startNs+int64(r.Opt.RampUp), window)
	}
	whole := delay + r.Opt.RampUp + window + r.Opt.RampDown
	if p.Cell.WritesTo() != "" {
		whole += wire.MostReadBack
	}
	r.runEnds(ctx, r.patience(whole),
		func(h *host.Host) wire.Schedule { return r.schedule(h, startNs, window) }, out)
}

// patience returns how long an end may take to answer to a run that lasts so long.
func (r *Runner) patience(run time.Duration) time.Duration {
	return run + r.wait(peerWait) + r.wait(endGrace) + 2*r.hint() + r.grace()
}

// runEnds runs both ends of a cell and waits for both. When one fails, the other is called off: it
// would only wait for nothing. One that does not answer within limit, which is long after its
// schedule, is given up.
func (r *Runner) runEnds(ctx context.Context, limit time.Duration, schedule func(*host.Host) wire.Schedule,
	out *outcome) {
	type answer struct {
		h   *host.Host
		res wire.EndResult
		err error
	}
	var of wire.EndRef
	answers := make(chan answer, 2)
	var calling sync.WaitGroup // off: none may reach the next run
	ended := map[*host.Host]chan struct{}{r.SUT: make(chan struct{}), r.TG: make(chan struct{})}
	call := func(h *host.Host, sch wire.Schedule) {
		a := answer{h: h}
		// Aborting goes through OpAbort, so that the end's own account comes back.
		a.err = h.CallWithin(context.WithoutCancel(ctx), limit, wire.OpRun, sch, &a.res)
		if a.err == nil {
			a.err = plausible(h, sch, &a.res)
		}
		close(ended[h])
		answers <- a
	}
	for h := range ended {
		sch := schedule(h)
		of = sch.EndRef
		go call(h, sch)
	}
	off := func(h *host.Host) { calling.Go(func() { callOff(h, of, ended[h], r.grace()) }) }
	calling.Add(1)
	stop := context.AfterFunc(ctx, func() { defer calling.Done(); off(r.SUT); off(r.TG) })
	defer func() {
		if stop() {
			calling.Done()
		}
		calling.Wait()
	}()
	for n := range 2 {
		a, other := <-answers, r.TG
		if a.h == r.SUT {
			out.sut, out.sutErr = a.res, a.err
		} else {
			out.tg, out.tgErr, other = a.res, a.err, r.SUT
		}
		if bad := a.err != nil || a.res.Verdict == results.Failed; bad && n == 0 {
			off(other)
		}
	}
}

// delay returns startDelay and two round trips to the farther host.
func delay(sut, tg *host.Host) time.Duration {
	return startDelay + 4*time.Duration(max(sut.UncertaintyNs, tg.UncertaintyNs))
}

// schedule translates the run's times from the controller's clock to h's.
func (r *Runner) schedule(h *host.Host, startNs int64, window time.Duration) wire.Schedule {
	start := startNs + clockOffset(h, r.SUT, r.TG)
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
func (r *Runner) hint() time.Duration { return (hintTime + 3*delay(r.SUT, r.TG)).Truncate(time.Second) }

func (r *Runner) grace() time.Duration { return cmp.Or(r.Grace, runGrace) }

// plausible refuses an account of a window that nobody asked for.
func plausible(h *host.Host, sch wire.Schedule, res *wire.EndResult) error {
	if res.Verdict == results.OK && res.Total.Bytes < sch.StopBytes {
		h.Distrust(fmt.Errorf("run: %d bytes instead of %d", res.Total.Bytes, sch.StopBytes))
		*res = wire.EndResult{}
		return h.Err()
	}
	if err := sch.CheckTurns(res); err != nil {
		h.Distrust(fmt.Errorf("run: %w", err))
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

// callOff aborts the run of an end. One that does not end by that either is given
// up after grace.
func callOff(h *host.Host, of wire.EndRef, ended <-chan struct{}, grace time.Duration) {
	if h.Call(context.Background(), wire.OpAbort, of, nil) != nil {
		return // it is gone, or is now
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C:
		h.GiveUp(fmt.Sprintf("its run was aborted, but did not end within %v", grace))
	}
}

// freeEnd frees an end, also when the run's context has ended: then one that does not
// answer within limit is given up.
func freeEnd(ctx context.Context, h *host.Host, end int, limit time.Duration, err *error) {
	freed := make(chan struct{})
	defer close(freed)
	stop := context.AfterFunc(ctx, func() {
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
	if cerr := h.Call(context.Background(), wire.OpClose, wire.EndRef{End: end}, nil); cerr != nil && *err == nil {
		*err = cerr
	}
}
