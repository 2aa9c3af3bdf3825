package bpf

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Cost is what one program costs, by the kernel's own clock (bpf_stats). That
// clock itself adds some tens of ns to every run: the floor, an empty program at
// the same place in the same time, shows how much.
type Cost struct {
	Hook      Hook
	Runs      uint64
	Ns        float64 // per run
	FloorNs   float64 // of the empty program
	Hz        float64
	Core      float64 // share of one CPU, the floor taken off
	Reference float64 // ns per run of the per-CPU hash design at the same place with the same filter; 0: not measured
}

// MeasureCost lets the kernel time all programs of the probe for d, which slows
// everything on the machine that runs eBPF programs: throughput measured
// meanwhile means nothing.
func (l *Latency) MeasureCost(ctx context.Context, d time.Duration) (costs []Cost, err error) {
	off, err := taiOffset()
	if err != nil {
		return nil, err
	}
	yard, err := newSet(loadOverhead, l.filter.vars())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, yard.close()) }()
	if err := yard.maps.Variables[overheadVarTaiOffsetNs].Set(off); err != nil {
		return nil, err
	}
	triples, err := l.beside(yard)
	if err != nil {
		return nil, err
	}
	stats, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
	if err != nil {
		return nil, yard.explain("switch bpf_stats on", err)
	}
	defer stats.Close()
	before, err := readAll(triples)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	seconds := time.Since(start).Seconds()
	after, err := readAll(triples)
	if err != nil {
		return nil, err
	}
	for i, t := range triples {
		costs = append(costs, t.cost(before[i], after[i], seconds))
	}
	return costs, nil
}

// triple is a program of ours, the empty one, and the reference if there is one.
type triple struct {
	hook  Hook
	progs [3]*ebpf.Program
}

// references are programs of the reference design that can take the place of
// ours.
var references = map[string]string{
	"tcp4_do_rcv": overheadProgHashSockSkb, "tcp6_do_rcv": overheadProgHashSockSkb, "tcp_do_rcv_tp": overheadProgHashSockSkb,
	"tcp_enqueued": overheadProgHashSockSkb, "tcp_enqueued_tp": overheadProgHashSock,
	"tcp_read": overheadProgHashSkb, "tcp_read_tp": overheadProgHashSkb,
}

// beside attaches the yardsticks to the places of our programs.
func (l *Latency) beside(yard *set) ([]triple, error) {
	var out []triple
	for _, h := range l.Hooks {
		if h.Reason != "" {
			continue
		}
		t := triple{hook: h, progs: [3]*ebpf.Program{l.set.progs[h.program]}}
		at := l.set.spec.Programs[h.program]
		for i, name := range []string{overheadProgEmpty, references[h.program]} {
			if name == "" {
				continue
			}
			p, err := yard.trace(name, func(p *ebpf.ProgramSpec) { p.AttachTo, p.AttachType = at.AttachTo, at.AttachType })
			if err != nil {
				return nil, fmt.Errorf("put %s beside the probe at %s: %w", name, h.Function, err)
			}
			yard.progs[fmt.Sprint(h.program, i)] = p
			t.progs[i+1] = p
		}
		out = append(out, t)
	}
	return out, nil
}

type runs struct{ ns, n float64 }

func readAll(ts []triple) ([][3]runs, error) {
	var out [][3]runs
	for _, t := range ts {
		var rs [3]runs
		for i, p := range t.progs {
			if p == nil {
				continue
			}
			st, err := p.Stats()
			if err != nil {
				return nil, fmt.Errorf("read the cost of %s: %w", t.hook.Function, err)
			}
			rs[i] = runs{float64(st.Runtime), float64(st.RunCount)}
		}
		out = append(out, rs)
	}
	return out, nil
}

func (t triple) cost(before, after [3]runs, seconds float64) Cost {
	var per [3]float64
	for i := range per {
		if n := after[i].n - before[i].n; n > 0 {
			per[i] = (after[i].ns - before[i].ns) / n
		}
	}
	n := after[0].n - before[0].n
	return Cost{Hook: t.hook, Runs: uint64(n), Ns: per[0], FloorNs: per[1], Reference: per[2], Hz: n / seconds,
		Core: max(per[0]-per[1], 0) * n / seconds / 1e9}
}
