package main

import (
	"time"

	"github.com/zcbench/zcbench/bpf"
)

// probeOutput is what `zcbench probe --json` prints. Times are in nanoseconds.
type probeOutput struct {
	What      string       `json:"what"` // "interval" or "total"
	DurationS float64      `json:"duration_s"`
	T0        string       `json:"t0"`
	Hooks     []bpf.Hook   `json:"hooks"`
	Stages    []probeStage `json:"stages"`
	Counters  []bpf.Count  `json:"counters"`
	Syscalls  []probeCall  `json:"syscalls,omitempty"`
	Missed    uint64       `json:"missed"` // program runs left out by the kernel
}

// probeStage is one stage; figures of a stage that saw nothing are absent.
type probeStage struct {
	Stage     string   `json:"stage"`
	Count     uint64   `json:"count"`
	Negative  uint64   `json:"negative"`
	Unstamped uint64   `json:"unstamped"`
	MeanNs    *float64 `json:"mean_ns,omitempty"`
	P50Ns     *float64 `json:"p50_ns,omitempty"`
	P90Ns     *float64 `json:"p90_ns,omitempty"`
	P99Ns     *float64 `json:"p99_ns,omitempty"`
	P999Ns    *float64 `json:"p999_ns,omitempty"`
	MaxNs     *uint64  `json:"max_ns,omitempty"`
	// Buckets are [lower edge, upper edge, count], the upper edge exclusive;
	// empty ones are left out.
	Buckets [][3]uint64 `json:"buckets,omitempty"`
}

type probeCall struct {
	Syscall string  `json:"syscall"`
	Calls   uint64  `json:"calls"`
	Errors  uint64  `json:"errors"`
	TotalNs int64   `json:"total_ns"`
	MinNs   int64   `json:"min_ns"`
	MeanNs  int64   `json:"mean_ns"`
	MaxNs   int64   `json:"max_ns"`
	Stddev  float64 `json:"stddev_percent"` // of the mean
}

func probeReport(what string, wall time.Duration, l *bpf.Latency, d reading) probeOutput {
	o := probeOutput{What: what, DurationS: wall.Seconds(), T0: l.T0, Hooks: l.Hooks, Counters: d.path, Missed: l.Missed()}
	for _, s := range d.latency {
		o.Stages = append(o.Stages, stageReport(s))
	}
	for _, c := range d.calls {
		o.Syscalls = append(o.Syscalls, probeCall{c.Name, c.Calls, c.Errors, int64(c.Sum), int64(c.Min), int64(c.Mean()), int64(c.Max), 100 * c.Stddev()})
	}
	return o
}

func stageReport(s bpf.StageHist) probeStage {
	h := &s.Hist
	p := probeStage{Stage: s.Stage, Count: h.Count(), Negative: h.Negative, Unstamped: h.Unstamped}
	if p.Count == 0 {
		return p
	}
	figure := func(v float64) *float64 { return &v }
	p.MeanNs, p.P50Ns, p.P90Ns, p.P99Ns, p.P999Ns = figure(h.Mean()), figure(h.Quantile(.5)), figure(h.Quantile(.9)), figure(h.Quantile(.99)), figure(h.Quantile(.999))
	p.MaxNs = &h.Max
	for i, n := range h.Bucket {
		if n > 0 {
			p.Buckets = append(p.Buckets, [3]uint64{bpf.Edge(i), bpf.Edge(i + 1), n})
		}
	}
	return p
}
