// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cilium/ebpf"

	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/packet/xdp"
)

// In one flood the two programs take turns of some milliseconds each, ABBA: what a machine does
// meanwhile, such as a hypervisor that moves a CPU, is the same for both. xdp-bench has attached
// its program to another interface, where nothing comes, and reads its counters there as it does
// always; the kernel lets the same program have the place of ours for a turn.

// swapSettles is how long a turn is under way before it is measured: what was queued is through.
const swapSettles = time.Millisecond

// swapped runs both for d each, in turns.
func (l *xdpLink) swapped(ctx context.Context, c xdpCase, b xdpBench, d, each time.Duration) (got [2]xdpSample,
	err error) {
	g, err := l.generator(xdpRamp + xdpSlack)
	if err != nil {
		return got, err
	}
	defer g.Close()
	end, err := l.beyond(c)
	if err != nil {
		return got, err
	}
	defer end.Close()
	ours, err := l.attachOurs(c)
	if err != nil {
		return got, err
	}
	defer ours.close()
	theirs, program, err := l.lent(ctx, c, b)
	if err != nil {
		return got, err
	}
	defer theirs.close()
	defer program.Close()
	// The kernel's XDP dispatcher knows all programs that are attached anywhere: both, in all
	// turns.
	var also io.Closer
	if err := l.spare.TG.Netns.Do(func() (err error) {
		also,
			err = ours.rung.Also(l.spare.TG.Dev)
		return err
	}); err != nil {
		return got, err
	}
	defer also.Close()
	before, err := l.edges()
	if err != nil {
		return got, err
	}
	ended := make(chan error, 1)
	go func() { ended <- g.Run() }()
	got, err = l.takeTurns(ctx, g, ours, program, d, each)
	select {
	case early := <-ended:
		return got, errors.Join(err, errors.New("the generator ended before it was stopped"), early)
	default:
	}
	g.Stop()
	if err = errors.Join(err, <-ended); err != nil {
		return got, err
	}
	frames, lost, err := l.account(g, before)
	if err != nil {
		return got, err
	}
	for i, r := range []xdpReceiver{ours, theirs} {
		if got[i].Frames, err = r.end(); err != nil {
			return got, err
		}
		got[i].Lost = lost
	}
	if n := got[0].Frames + got[1].Frames; n != frames {
		err = fmt.Errorf("ours counted %d frames and xdp-bench %d, the interface %d", got[0].Frames, got[1].Frames,
			frames)
	}
	return got, err
}

// lent starts xdp-bench where nothing comes, and gets its program.
func (l *xdpLink) lent(ctx context.Context, c xdpCase, b xdpBench) (r xdpReceiver, p *ebpf.Program, err error) {
	if l.spare == nil {
		p, err := veth.New(veth.Options{})
		if err != nil {
			return nil, nil, err
		}
		if err := silence(p); err != nil {
			return nil, nil, errors.Join(err, p.Close())
		}
		l.spare = p
	}
	if r, err = b.start(ctx, &xdpLink{pair: l.spare, from: l.from}, c); err != nil {
		return nil, nil, err
	}
	var link rtnl.Link
	err = l.spare.SUT.Netns.Do(func() (err error) { link, err = rtnl.LinkNamed(l.spare.SUT.Dev); return err })
	if err == nil && link.XDPProgram == 0 {
		err = errors.New("the kernel does not tell which program xdp-bench has attached")
	}
	if err == nil {
		if p, err = ebpf.NewProgramFromID(ebpf.ProgramID(link.XDPProgram)); err != nil {
			err = fmt.Errorf("get program %d of xdp-bench: %w", link.XDPProgram, err)
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, r.close())
	}
	return r, p, nil
}

// turns adds up what one program did in its turns.
type turns struct {
	frames       float64
	wall, thread time.Duration
}

// takeTurns measures while frames come, until both had time d, in whole ABBA.
func (l *xdpLink) takeTurns(ctx context.Context, g *xdp.Generator, ours *ourRung, program *ebpf.Program, d,
	each time.Duration) (got [2]xdpSample, err error) {
	if err := pause(ctx, xdpRamp); err != nil {
		return got, err
	}
	var sum [2]turns
	from, err := l.moment()
	if err != nil {
		return got, err
	}
	for sum[0].wall < d || sum[1].wall < d {
		if err := g.Extend(4*each + xdpSlack); err != nil { // a swap may take some tens of ms
			return got, err
		}
		for _, side := range []int{0, 1, 1, 0} {
			if err := l.turn(ctx, g, ours, program, side, each, &sum[side]); err != nil {
				return got, err
			}
		}
	}
	to, err := l.moment()
	if err != nil {
		return got, err
	}
	all, err := between(from, to) // what others did was beside both
	for i, t := range sum {
		got[i] = xdpSample{PerSecond: t.frames / t.wall.Seconds(), NsEach: float64(t.thread) / t.frames,
			Cores: t.thread.Seconds() / t.wall.Seconds(), Others: all.Others, Stolen: all.Stolen}
	}
	return got, err
}

// starved is how many turns in a row may pass without a frame: what sends or receives had no CPU.
const starved = 50

// turn gives a side its place, and measures it. A turn in which no frame came says nothing of the
// program, and is had again.
func (l *xdpLink) turn(ctx context.Context, g *xdp.Generator, ours *ourRung, program *ebpf.Program, side int,
	each time.Duration, sum *turns) error {
	if side == 0 {
		program = nil
	}
	if err := ours.rung.Lend(program); err != nil {
		return err
	}
	if err := pause(ctx, swapSettles); err != nil {
		return err
	}
	for range starved {
		a, err := l.instant()
		if err != nil {
			return err
		}
		if err := pause(ctx, each); err != nil {
			return err
		}
		b, err := l.instant()
		if err != nil {
			return err
		}
		if b.frames > a.frames {
			sum.frames += float64(b.frames - a.frames)
			sum.wall += b.at.Sub(a.at)
			sum.thread += b.thread - a.thread
			return nil
		}
		if err := g.Extend(4*each + xdpSlack); err != nil {
			return err
		}
	}
	return fmt.Errorf("no frame came in %d turns of %v, one after another", starved, each)
}
