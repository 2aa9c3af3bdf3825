// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"

	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/results"
)

// probes are the eBPF probes of one end; nil is none.
type probes struct {
	bpf.Probes
	port  uint16 // the data port
	whole wholeFlow
	held  *heldProbes // of an end with turns: what it shares with others
	tids  []int       // of its flows' threads, with turns
}

// probeReading is what the probes had counted at an edge of the window.
type probeReading struct {
	atNs    int64 // of the system calls
	tookNs  int64 // the reading
	latency []bpf.StageHist
	calls   []bpf.Call
	counts  []bpf.Count
	drops   dropReading
	missed  uint64
	err     error
}

// openProbes loads what the spec asks for: the latency of packets to the data
// port, this process's calls, the receive path and the drops of this namespace.
func openProbes(e *End) (*probes, error) {
	if len(programs(&e.spec.Cell)) == 0 {
		return nil, nil
	}
	p := &probes{port: dataPort(e.spec, e.port)}
	err := p.open(e)
	if err == nil {
		err = p.openFlow()
	}
	if err != nil {
		return nil, &fault.Error{Op: "load the probes", Err: errors.Join(err, p.close()),
			How: cmp.Or(fault.Fix(err), "leave out --probe")}
	}
	return p, nil
}

// programs lists a cell's probes that are eBPF programs.
func programs(c *plan.Cell) []string {
	return slices.DeleteFunc(c.Probes(), func(name string) bool { return name == plan.ProbeProfile })
}

func (p *probes) open(e *End) error {
	inode, err := e.inside.netns()
	if err != nil {
		return err
	}
	if e.spec.Shares {
		return p.openShared(e, inode)
	}
	return openPrograms(&p.Probes, e, inode, p.port, programs(&e.spec.Cell))
}

// openPrograms opens some of an end's probes; port is its data port.
func openPrograms(all *bpf.Probes, e *End, inode uint64, port uint16, names []string) (err error) {
	for _, name := range names {
		switch {
		case name == "latency" && e.spec.Role == stream.RX:
			of := bpf.Filter{Netns: inode, LocalPort: port}
			if e.inside != nil {
				of.Netns = 0 // they come through two
			}
			if e.spec.Shares {
				of.LocalPort = 0 // it is that of whose turn it is
			}
			all.Latency, err = bpf.OpenLatency(bpf.LatencyOptions{Filter: of, Turns: e.spec.Shares,
				Sample: cmp.Or(e.spec.Cell.ProbeSample, plan.DefaultProbeSample)})
		case name == "syscalls" && e.spec.Shares:
			all.Syscalls, err = bpf.OpenTurnSyscalls()
		case name == "syscalls":
			all.Syscalls, err = bpf.OpenSyscalls(os.Getpid())
		case name == "zc":
			all.Path, err = bpf.OpenPath(inode, 0)
		case name == "drops":
			all.Drops, err = bpf.OpenDrops(bpf.DropsOptions{Netns: inode, Flow: port})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// read reads the probes at an edge of the window. System calls come next to the
// window, so that the reading of the others is not among them.
func (p *probes) read(end bool) (r probeReading) {
	if p == nil {
		return r
	}
	began := counter.Monotonic()
	calls := func() (err error) {
		if r.atNs = counter.Monotonic(); p.Syscalls != nil {
			r.calls, err = p.Syscalls.Read()
		}
		return err
	}
	var e1, e2, e3, e4 error
	if end {
		e1 = calls()
	}
	if p.Latency != nil {
		r.latency, e2 = p.Latency.Read()
	}
	if p.Path != nil {
		r.counts, e3 = p.Path.Read()
	}
	if p.Drops != nil {
		r.drops, e4 = readDrops(p.Drops)
	}
	r.missed = p.Missed()
	if !end {
		e1 = calls()
	}
	r.err, r.tookNs = errors.Join(e1, e2, e3, e4), counter.Monotonic()-began
	return r
}

// figures computes what the probes saw while bytes of payload moved.
func (p *probes) figures(seen *probeSeen, bytes uint64) (f *results.Probes, warnings []string) {
	if p == nil {
		return nil, nil
	}
	if seen.err != nil {
		return nil, []string{"no probe figures: " + seen.err.Error()}
	}
	f = &results.Probes{Calls: callFigures(seen.calls, time.Duration(seen.wallNs), bytes)}
	for _, s := range seen.latency {
		if stage, ok := stageFigures(s.Stage, p.hooks(s.Stage), &s.Hist); ok {
			f.Stages = append(f.Stages, stage)
		}
	}
	if len(f.Stages) > 0 {
		f.Sample, f.T0 = p.Latency.Sample, p.Latency.T0
	}
	for _, c := range seen.counts {
		f.Counters = append(f.Counters, results.Counter{Name: c.Name, Unit: c.Unit, Value: new(float64(c.Value))})
	}
	warnings = p.absent()
	if p.Drops != nil {
		var warning string
		if f.Drops, warning = dropFigures(p.Drops, seen.drops, seen.counted, p.port); warning != "" {
			warnings = append(warnings, warning)
		}
	}
	if n := seen.missed; n > 0 {
		warnings = append(warnings, fmt.Sprintf("the kernel skipped %d probe runs that had interrupted themselves", n))
	}
	return f, warnings
}

// absent warns which programs are missing. A flow is of TCP: the others are none of its business.
func (p *probes) absent() (warnings []string) {
	hooks := slices.DeleteFunc(p.Hooks(), func(h bpf.Hook) bool { return strings.HasPrefix(h.Stage, "udp-") })
	for _, line := range bpf.Absent(hooks) {
		warnings = append(warnings, "missing probes: "+line)
	}
	return warnings
}

// hooks lists which programs saw a stage.
func (p *probes) hooks(stage string) string {
	var at []string
	for _, h := range p.Latency.Hooks {
		if h.Stage == stage && h.Reason == "" {
			at = append(at, h.Backend+"/"+h.Function)
		}
	}
	return strings.Join(at, " ")
}

// stageFigures computes the figures of a stage; none where the mode does not have it.
func stageFigures(stage, hook string, h *bpf.Hist) (s results.Stage, ok bool) {
	n := h.Count()
	if n+h.Negative+h.Unstamped == 0 {
		return s, false
	}
	s = results.Stage{Name: strings.ReplaceAll(stage, "-", "_"), Hook: hook,
		Count: new(float64(n)), Unstamped: new(float64(h.Unstamped)), Negative: new(float64(h.Negative))}
	if n > 0 {
		s.Mean, s.Max = new(h.Mean()), new(float64(h.Max))
		s.P50, s.P90, s.P99, s.P999 = new(h.Quantile(.5)), new(h.Quantile(.9)), new(h.Quantile(.99)),
			new(h.Quantile(.999))
	}
	return s, true
}

func callFigures(calls []bpf.Call, wall time.Duration, bytes uint64) (out []results.Syscall) {
	for _, c := range calls {
		s := results.Syscall{Name: c.Name, Calls: new(float64(c.Calls)), Errors: new(float64(c.Errors)),
			Total: new(float64(c.Sum) / 1e6), Avg: new(float64(c.Mean()) / 1e6),
			PerSecond: new(float64(c.Calls) / wall.Seconds())}
		if c.Max > 0 {
			s.Min, s.Max = new(float64(c.Min)/1e6), new(float64(c.Max)/1e6)
		}
		if c.Calls > 1 {
			s.Stddev = new(100 * c.Stddev())
		}
		if bytes > 0 {
			s.PerMB = new(float64(c.Calls) / (float64(bytes) / 1e6))
		}
		out = append(out, s)
	}
	return out
}

// close detaches everything.
func (p *probes) close() error {
	switch {
	case p == nil:
		return nil
	case p.held == nil:
		return p.Close()
	}
	var err error
	if p.Drops != nil {
		err = p.Drops.Close()
	}
	return errors.Join(err, probing.close(p.held))
}
