// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/results"
)

// probes are the eBPF probes of one end; nil is none.
type probes struct{ bpf.Probes }

// probeReading is what the probes had counted at an edge of the window.
type probeReading struct {
	atNs    int64 // of the system calls
	tookNs  int64 // the reading
	latency []bpf.StageHist
	calls   []bpf.Call
	counts  []bpf.Count
	missed  uint64
	err     error
}

// openProbes loads what the spec asks for: the latency of packets to the data
// port, this process's calls, and the receive path of this namespace.
func openProbes(e *End) (*probes, error) {
	if len(e.spec.Cell.Probes()) == 0 {
		return nil, nil
	}
	p := &probes{}
	err := p.open(e)
	if err != nil {
		return nil, &fault.Error{Op: "load the probes", Err: errors.Join(err, p.close()), How: "run as root, or leave --probe out"}
	}
	return p, nil
}

func (p *probes) open(e *End) error {
	inode, err := bpf.NetnsInode()
	if err != nil {
		return err
	}
	for _, name := range e.spec.Cell.Probes() {
		switch {
		case name == "latency" && e.spec.Role == stream.RX:
			port := e.port.Addr().(*net.TCPAddr).Port
			p.Latency, err = bpf.OpenLatency(bpf.LatencyOptions{Filter: bpf.Filter{Netns: inode, LocalPort: uint16(port)},
				Sample: cmp.Or(e.spec.Cell.ProbeSample, results.DefaultProbeSample)})
		case name == "syscalls":
			p.Syscalls, err = bpf.OpenSyscalls(os.Getpid())
		case name == "zc":
			p.Path, err = bpf.OpenPath(inode, 0)
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
	var e1, e2, e3 error
	if end {
		e1 = calls()
	}
	if p.Latency != nil {
		r.latency, e2 = p.Latency.Read()
	}
	if p.Path != nil {
		r.counts, e3 = p.Path.Read()
	}
	r.missed = p.Missed()
	if !end {
		e1 = calls()
	}
	r.err, r.tookNs = errors.Join(e1, e2, e3), counter.Monotonic()-began
	return r
}

// metrics are the rows of the window, which moved bytes of payload.
func (p *probes) metrics(from, to probeReading, bytes uint64) (rows []results.Metric, warnings []string) {
	if p == nil {
		return nil, nil
	}
	if err := errors.Join(from.err, to.err); err != nil {
		return nil, []string{"no figures of the probes: " + err.Error()}
	}
	for i, s := range to.latency {
		h := s.Hist.Sub(&from.latency[i].Hist)
		rows = append(rows, latencyMetrics(s.Stage, p.source(s.Stage), &h)...)
	}
	if len(rows) > 0 {
		rows = append(rows, results.Metric{Name: "latency_sample_packets", Unit: "packets", Value: float64(p.Latency.Sample), Source: "eBPF"})
	}
	rows = append(rows, callMetrics(bpf.SubCalls(to.calls, from.calls), time.Duration(to.atNs-from.atNs), bytes)...)
	for i, c := range to.counts {
		rows = append(rows, results.Metric{Name: "probe_" + c.Name, Unit: c.Unit, Value: float64(c.Value - from.counts[i].Value), Source: "eBPF"})
	}
	warnings = p.absent()
	if n := to.missed - from.missed; n > 0 {
		warnings = append(warnings, fmt.Sprintf("the kernel left out %d runs of probes that had interrupted themselves", n))
	}
	return rows, warnings
}

// absent says which programs are missing. A flow is of TCP: the others are none of
// its business.
func (p *probes) absent() (warnings []string) {
	hooks := slices.DeleteFunc(p.Hooks(), func(h bpf.Hook) bool { return strings.HasPrefix(h.Stage, "udp-") })
	for _, line := range bpf.Absent(hooks) {
		warnings = append(warnings, "probes not there: "+line)
	}
	return warnings
}

// source says which programs saw a stage and where its times begin.
func (p *probes) source(stage string) string {
	var at []string
	for _, h := range p.Latency.Hooks {
		if h.Stage == stage && h.Reason == "" {
			at = append(at, h.Backend+"/"+h.Function)
		}
	}
	s := "eBPF " + strings.Join(at, " ")
	if bpf.SinceStamp(stage) {
		s += "; t0: " + p.Latency.T0
	}
	return s
}

// gateBPFStats: the kernel did not time eBPF programs, which slows all that run
// on the machine, whoever asked for it.
func (r *run) gateBPFStats(stream.Counters, *wire.EndResult) (reason, fix string) {
	if !r.to.timed.Since(r.from.timed) {
		return "", ""
	}
	return "bpf_stats was on: the kernel timed every run of an eBPF program, and the flow was slowed by that",
		"sysctl -w kernel.bpf_stats_enabled=0, and end what measures programs, such as zcbench probe --overhead or bpftop"
}

func latencyMetrics(stage, source string, h *bpf.Hist) (rows []results.Metric) {
	name := "latency_" + strings.ReplaceAll(stage, "-", "_")
	add := func(what, unit string, v float64) {
		rows = append(rows, results.Metric{Name: name + "_" + what, Unit: unit, Value: v, Source: source})
	}
	n := h.Count()
	if n+h.Negative+h.Unstamped == 0 {
		return nil // not a stage of this mode
	}
	add("count", "packets", float64(n))
	add("unstamped", "packets", float64(h.Unstamped))
	add("negative", "packets", float64(h.Negative))
	if n == 0 {
		return rows
	}
	add("mean", "ns", h.Mean())
	for what, q := range map[string]float64{"p50": .5, "p90": .9, "p99": .99, "p999": .999} {
		add(what, "ns", h.Quantile(q))
	}
	slices.SortFunc(rows[4:], func(a, b results.Metric) int { return strings.Compare(a.Name, b.Name) })
	add("max", "ns", float64(h.Max))
	return rows
}

func callMetrics(calls []bpf.Call, wall time.Duration, bytes uint64) (rows []results.Metric) {
	for _, c := range calls {
		add := func(what, unit string, v float64) {
			rows = append(rows, results.Metric{Name: "syscall_" + c.Name + "_" + what, Unit: unit, Value: v, Source: "eBPF"})
		}
		add("calls", "1", float64(c.Calls))
		add("errors", "1", float64(c.Errors))
		add("total", "ms", float64(c.Sum)/1e6)
		add("min", "ms", float64(c.Min)/1e6)
		add("avg", "ms", float64(c.Mean())/1e6)
		add("max", "ms", float64(c.Max)/1e6)
		if c.Calls > 1 {
			add("stddev", "%", 100*c.Stddev())
		}
		add("per_second", "1/s", float64(c.Calls)/wall.Seconds())
		if bytes > 0 {
			add("per_mb", "1/MB", float64(c.Calls)/(float64(bytes)/1e6))
		}
	}
	return rows
}

// close detaches everything.
func (p *probes) close() error {
	if p == nil {
		return nil
	}
	return p.Close()
}
