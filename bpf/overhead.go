// SPDX-License-Identifier: MIT

package bpf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// Cost is what one program costs, by the kernel's own clock (bpf_stats). That
// clock itself adds some tens of ns to every run: the floor, an empty program at
// the same place, shows how much. Figures per run are 0 where none was timed.
type Cost struct {
	Hook      Hook
	Runs      uint64
	Ns        float64 // per run, the median of some turns
	FloorNs   float64 // of the empty program
	Hz        float64
	Core      float64 // share of one CPU, the floor taken off; 0: no floor, or no run
	Reference float64 // ns per run of the per-CPU hash design at the same place with the same filter; 0: not measured
	Whole     bool    // Ns is what it costs: nothing of it is a clock's. Hz is of one CPU
}

// rounds is how often each of ours, the empty programs and the reference has its
// turn.
const rounds = 4

// The teams that take turns.
const (
	ours = iota
	empty
	reference
	teams
)

// MeasureCost lets the kernel time the probes, empty programs and the reference
// design in turns, for d in all. They are never attached together: the first to
// read a packet would pay the others' cache misses. Nor are two of the probes, each of
// which has a price of its own. Only what stamps packets stays, because others read its
// stamps. The probes count nothing more afterwards. The
// kernel's timing slows everything on the machine that runs eBPF programs:
// throughput measured meanwhile means nothing. The calling thread must be in the
// network namespace in which the latency probe was opened. It needs CAP_SYS_ADMIN.
func (p Probes) MeasureCost(ctx context.Context, d time.Duration) (costs []Cost, err error) {
	offset, err := taiOffset()
	if err != nil {
		return nil, err
	}
	var filter Filter
	if p.Latency != nil {
		filter = p.Latency.filter
	}
	yard, err := filter.load(loadOverhead, map[string]any{overheadVarFixedTaiOffsetNs: offset})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, yard.close()) }()
	if i := uint32(filter.Ifindex); i != 0 {
		if err := yard.maps.Maps[overheadMapInterfaces].Put(i, uint64(1)); err != nil {
			return nil, fmt.Errorf("filter the reference by interface %d: %w", i, err)
		}
	}
	groups, err := p.places(yard)
	if err != nil {
		return nil, err
	}
	stats, err := enableStats()
	if err != nil {
		return nil, err
	}
	defer stats.Close()
	for range rounds {
		for team := range teams {
			for _, places := range groups {
				if err := turn(ctx, places, team, d/rounds/teams/time.Duration(len(groups))); err != nil {
					return nil, err
				}
			}
		}
	}
	for _, at := range slices.Concat(groups...) {
		costs = append(costs, at.cost())
	}
	return costs, nil
}

// enableStats lets the kernel time eBPF programs until it is closed.
func enableStats() (io.Closer, error) {
	stats, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
	if err != nil {
		return nil, remedy.Error(remedy.BPFStats, "switch bpf_stats on", err, remedy.On{})
	}
	return stats, nil
}

// tally is what the kernel timed of one program.
type tally struct {
	runs    uint64
	turns   []float64 // ns per run in each turn in which it ran
	seconds float64   // that it was attached and watched
}

// add takes a turn.
func (t *tally) add(runs uint64, ns time.Duration, seconds float64) {
	t.runs += runs
	t.seconds += seconds
	if runs > 0 {
		t.turns = append(t.turns, float64(ns)/float64(runs))
	}
}

// perRun computes the median of the turns, ns: one in which somebody else had the machine counts
// for no more than the others. 0: it did not run.
func (t *tally) perRun() float64 {
	if len(t.turns) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(t.turns))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// place is where a program of ours is attached, and who can be there.
type place struct {
	hook   Hook
	attach func(*ebpf.Program) ([]link.Link, error)
	progs  [teams]*ebpf.Program // nil: none
	tally  [teams]tally
	stays  bool // ours is always attached
}

// places takes our programs from their places, those of each probe by themselves, and loads the
// yardsticks for them.
func (p Probes) places(yard *set) (groups [][]*place, err error) {
	for _, pr := range p.sets() {
		var of []*place
		if l := p.Latency; l != nil && pr.set == l.set && len(l.stamp.links) > 0 {
			if of, err = l.stamp.place(yard); err != nil {
				return nil, err
			}
		}
		more, err := pr.set.places(yard, pr.hooks)
		if err != nil {
			return nil, err
		}
		if of = append(of, more...); len(of) > 0 {
			groups = append(groups, of)
		}
		if err := pr.set.detach(); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// references are programs of the reference design that can take the place of
// ours.
var references = map[string]string{
	"tcp4_do_rcv": overheadProgHashSockSkb, "tcp6_do_rcv": overheadProgHashSockSkb,
	"tcp_do_rcv_tp": overheadProgHashSockSkb,
	"tcp_enqueued":  overheadProgHashSockSkb, "enqueued_tp": overheadProgHashSock,
	"tcp_read": overheadProgHashSkb, "tcp_read_tp": overheadProgHashSkb,
}

func (s *set) places(yard *set, hooks []Hook) (out []*place, err error) {
	seen := map[string]bool{}
	for _, h := range hooks {
		if !h.there() || seen[h.program] {
			continue
		}
		seen[h.program] = true
		at := s.spec.Programs[h.program]
		pl := &place{hook: h, attach: attachTracing}
		pl.progs[ours] = s.progs[h.program]
		for team, name := range map[int]string{empty: overheadProgEmpty, reference: references[h.program]} {
			if name == "" {
				continue
			}
			pl.progs[team], err = yard.program(name, func(p *ebpf.ProgramSpec) {
				p.AttachTo, p.AttachType = at.AttachTo,
					at.AttachType
			})
			if err != nil {
				return nil, fmt.Errorf("load %s for %s: %w", name, h.Function, err)
			}
			yard.progs[fmt.Sprint(h.program, team)] = pl.progs[team]
		}
		out = append(out, pl)
	}
	return out, nil
}

func attachTracing(p *ebpf.Program) ([]link.Link, error) {
	l, err := link.AttachTracing(link.TracingOptions{Program: p})
	return []link.Link{l}, err
}

// place prepares the place of the stamping program, with an empty program for comparison.
func (st *stamper) place(yard *set) ([]*place, error) {
	if now, err := NetnsInode(); err != nil || now != st.netns {
		return nil, errors.Join(err,
			errors.New("the cost of time stamping can be measured only from the network namespace of its interfaces"))
	}
	p, err := yard.program(overheadProgEmptyTcx, nil)
	if err != nil {
		return nil, fmt.Errorf("load an empty program for tcx: %w", err)
	}
	yard.progs[overheadProgEmptyTcx] = p
	pl := &place{hook: Hook{Stage: "stamp", Backend: "tcx", Function: "ingress of " + strings.Join(st.names, ", ")},
		stays: true, attach: st.attachToo}
	pl.progs[ours], pl.progs[empty] = st.prog, p
	return []*place{pl}, nil
}

// attachToo attaches another program wherever the stamping one is.
func (st *stamper) attachToo(p *ebpf.Program) (links []link.Link, err error) {
	for _, dev := range st.devs {
		l, err := st.attach(link.TCXOptions{Interface: dev, Program: p, Attach: ebpf.AttachTCXIngress,
			Anchor: link.Head()})
		if err != nil {
			return links, err
		}
		links = append(links, l)
	}
	return links, nil
}

// watched is a program whose runs are counted in a turn.
type watched struct {
	prog   *ebpf.Program
	tally  *tally
	before *ebpf.ProgramStats
}

// turn attaches one team for a while.
func turn(ctx context.Context, places []*place, team int, d time.Duration) (err error) {
	var links []link.Link
	defer func() {
		for _, l := range links {
			err = errors.Join(err, l.Close())
		}
	}()
	var running []*watched
	for _, p := range places {
		if p.stays {
			running = append(running, &watched{prog: p.progs[ours], tally: &p.tally[ours]})
		}
		if p.progs[team] == nil || p.stays && team == ours {
			continue
		}
		ls, err := p.attach(p.progs[team])
		if err != nil {
			return fmt.Errorf("attach to %s for the cost: %w", p.hook.Function, err)
		}
		links, running = append(links, ls...), append(running, &watched{prog: p.progs[team], tally: &p.tally[team]})
	}
	for _, w := range running {
		if w.before, err = w.prog.Stats(); err != nil {
			return fmt.Errorf("read a program's cost: %w", err)
		}
	}
	start := time.Now()
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	took := time.Since(start).Seconds()
	for _, w := range running {
		now, err := w.prog.Stats()
		if err != nil {
			return fmt.Errorf("read a program's cost: %w", err)
		}
		w.tally.add(now.RunCount-w.before.RunCount, now.Runtime-w.before.Runtime, took)
	}
	return nil
}

// cost computes the cost from the turns.
func (p *place) cost() Cost {
	c := Cost{Hook: p.hook, Runs: p.tally[ours].runs, Ns: p.tally[ours].perRun(), FloorNs: p.tally[empty].perRun(),
		Reference: p.tally[reference].perRun()}
	c.Hz = float64(c.Runs) / p.tally[ours].seconds
	if c.FloorNs > 0 {
		c.Core = max(c.Ns-c.FloorNs, 0) * c.Hz / 1e9
	}
	return c
}
