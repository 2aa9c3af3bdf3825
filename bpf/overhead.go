package bpf

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// Cost is what one program costs, by the kernel's own clock (bpf_stats). That
// clock itself adds some tens of ns to every run: the floor, an empty program at
// the same place, shows how much.
type Cost struct {
	Hook      Hook
	Runs      uint64
	Ns        float64 // per run
	FloorNs   float64 // of the empty program
	Hz        float64
	Core      float64 // share of one CPU, the floor taken off
	Reference float64 // ns per run of the per-CPU hash design at the same place with the same filter; 0: not measured
}

// rounds is how often each of ours, the empty programs and the reference has its
// turn.
const rounds = 4

// MeasureCost lets the kernel time the probe, empty programs and the reference
// design in turns, for d in all. They are never attached together: the first to
// read a packet would pay the others' cache misses. The probe counts nothing
// more afterwards. The kernel's timing slows everything on the machine that runs
// eBPF programs: throughput measured meanwhile means nothing.
func (l *Latency) MeasureCost(ctx context.Context, d time.Duration) (costs []Cost, err error) {
	offset, err := taiOffset()
	if err != nil {
		return nil, err
	}
	yard, err := l.filter.load(loadOverhead, map[string]any{overheadVarFixedTaiOffsetNs: offset})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, yard.close()) }()
	if i := uint32(l.filter.Ifindex); i != 0 {
		if err := yard.maps.Maps[overheadMapInterfaces].Put(i, uint64(1)); err != nil {
			return nil, fmt.Errorf("filter the reference by interface %d: %w", i, err)
		}
	}
	places, err := l.places(yard)
	if err != nil {
		return nil, err
	}
	if err := l.set.detach(); err != nil {
		return nil, err
	}
	stats, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
	if err != nil {
		return nil, yard.explain("switch bpf_stats on", err)
	}
	defer stats.Close()
	var seconds float64 // that ours were attached
	for range rounds {
		for team := range teams {
			took, err := turn(ctx, places, team, d/rounds/teams)
			if err != nil {
				return nil, err
			}
			if team == 0 {
				seconds += took.Seconds()
			}
		}
	}
	for _, p := range places {
		c, err := p.cost(seconds)
		if err != nil {
			return nil, err
		}
		costs = append(costs, c)
	}
	return costs, nil
}

// teams are ours, the empty programs and the reference.
const teams = 3

// place is where a program of ours is attached, and who can be there.
type place struct {
	hook  Hook
	progs [teams]*ebpf.Program // nil: none
}

// turn attaches one team for a while.
func turn(ctx context.Context, places []place, team int, d time.Duration) (took time.Duration, err error) {
	var links []link.Link
	defer func() {
		for _, l := range links {
			err = errors.Join(err, l.Close())
		}
	}()
	for _, p := range places {
		if p.progs[team] == nil {
			continue
		}
		l, err := link.AttachTracing(link.TracingOptions{Program: p.progs[team]})
		if err != nil {
			return 0, fmt.Errorf("attach to %s for the cost: %w", p.hook.Function, err)
		}
		links = append(links, l)
	}
	start := time.Now()
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	return time.Since(start), nil
}

// references are programs of the reference design that can take the place of
// ours.
var references = map[string]string{
	"tcp4_do_rcv": overheadProgHashSockSkb, "tcp6_do_rcv": overheadProgHashSockSkb, "tcp_do_rcv_tp": overheadProgHashSockSkb,
	"tcp_enqueued": overheadProgHashSockSkb, "enqueued_tp": overheadProgHashSock,
	"tcp_read": overheadProgHashSkb, "tcp_read_tp": overheadProgHashSkb,
}

// places loads the yardsticks for the places of our programs.
func (l *Latency) places(yard *set) ([]place, error) {
	var out []place
	seen := map[string]bool{}
	for _, h := range l.Hooks {
		if h.Reason != "" || seen[h.program] {
			continue
		}
		seen[h.program] = true
		t := place{hook: h, progs: [teams]*ebpf.Program{l.set.progs[h.program]}}
		at := l.set.spec.Programs[h.program]
		for i, name := range []string{overheadProgEmpty, references[h.program]} {
			if name == "" {
				continue
			}
			p, err := yard.program(name, func(p *ebpf.ProgramSpec) { p.AttachTo, p.AttachType = at.AttachTo, at.AttachType })
			if err != nil {
				return nil, fmt.Errorf("load %s for %s: %w", name, h.Function, err)
			}
			yard.progs[fmt.Sprint(h.program, i)] = p
			t.progs[i+1] = p
		}
		out = append(out, t)
	}
	return out, nil
}

// cost reads what the programs cost while the kernel timed them.
func (t place) cost(seconds float64) (Cost, error) {
	c := Cost{Hook: t.hook}
	for i, ns := range []*float64{&c.Ns, &c.FloorNs, &c.Reference} {
		if t.progs[i] == nil {
			continue
		}
		st, err := t.progs[i].Stats()
		if err != nil {
			return c, fmt.Errorf("read the cost of %s: %w", t.hook.Function, err)
		}
		if i == 0 {
			c.Runs, c.Hz = st.RunCount, float64(st.RunCount)/seconds
		}
		if st.RunCount > 0 {
			*ns = float64(st.Runtime) / float64(st.RunCount)
		}
	}
	c.Core = max(c.Ns-c.FloorNs, 0) * c.Hz / 1e9
	return c, nil
}
