// SPDX-License-Identifier: MIT

package main

import (
	"time"

	"github.com/zcbench/zcbench/bpf"
)

// probeOutput is what `zcbench probe --json` prints. Times are in nanoseconds.
type probeOutput struct {
	What      string       `json:"what"` // "interval", "total"
	DurationS float64      `json:"duration_s"`
	T0        string       `json:"t0"`
	Sample    int          `json:"sample_packets"` // of how many packets one is in the stages
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
	// empty ones are left out. What is longer than 2^34 ns is in the last.
	Buckets [][3]uint64 `json:"buckets,omitempty"`
}

type probeCall struct {
	Syscall string   `json:"syscall"`
	Calls   uint64   `json:"calls"`
	Errors  uint64   `json:"errors"`
	TotalNs int64    `json:"total_ns"`
	MinNs   *int64   `json:"min_ns,omitempty"` // nil: not known
	MeanNs  int64    `json:"mean_ns"`
	MaxNs   *int64   `json:"max_ns,omitempty"`
	Stddev  *float64 `json:"stddev_percent,omitempty"` // of the mean; a single call has none
}

// overheadOutput is what `zcbench probe --overhead --json` prints.
type overheadOutput struct {
	What      string      `json:"what"` // "overhead"
	DurationS float64     `json:"duration_s"`
	T0        string      `json:"t0"`
	Sample    int         `json:"sample_packets"`
	Hooks     []bpf.Hook  `json:"hooks"`
	Costs     []probeCost `json:"costs"`
}

// probeCost is what one program costs; figures that were not measured are absent.
type probeCost struct {
	bpf.Hook
	Runs         uint64   `json:"runs"`
	Hz           float64  `json:"hz"`
	Ns           *float64 `json:"ns_per_run,omitempty"`
	EmptyNs      *float64 `json:"empty_ns_per_run,omitempty"`       // of an empty program at the same place
	HashDesignNs *float64 `json:"hash_design_ns_per_run,omitempty"` // of the per-CPU hash
	Cores        *float64 `json:"cores,omitempty"`                  // less the empty program; of samples, of each CPU
}

func costReport(p *prober, costs []bpf.Cost) overheadOutput {
	o := overheadOutput{What: "overhead", DurationS: p.flags.duration.Seconds(), T0: p.probes.Latency.T0,
		Sample: p.probes.Latency.Sample, Hooks: p.probes.Hooks()}
	for _, c := range costs {
		r := probeCost{Hook: c.Hook, Runs: c.Runs, Hz: c.Hz}
		for to, v := range map[**float64]float64{&r.Ns: c.Ns, &r.EmptyNs: c.FloorNs, &r.HashDesignNs: c.Reference} {
			if v > 0 {
				*to = &v
			}
		}
		if r.Ns != nil && (r.EmptyNs != nil || c.Whole) {
			r.Cores = &c.Core
		}
		o.Costs = append(o.Costs, r)
	}
	return o
}

func probeReport(what string, wall time.Duration, p *prober, d reading) probeOutput {
	o := probeOutput{What: what, DurationS: wall.Seconds(), T0: p.probes.Latency.T0, Sample: p.probes.Latency.Sample,
		Hooks: p.probes.Hooks(), Counters: d.path, Missed: d.missed}
	for _, s := range d.latency {
		o.Stages = append(o.Stages, stageReport(s))
	}
	for _, c := range d.calls {
		call := probeCall{Syscall: c.Name, Calls: c.Calls, Errors: c.Errors, TotalNs: int64(c.Sum),
			MeanNs: int64(c.Mean())}
		if c.Max > 0 {
			call.MinNs, call.MaxNs = new(int64(c.Min)), new(int64(c.Max))
		}
		if c.Calls > 1 {
			call.Stddev = new(100 * c.Stddev())
		}
		o.Syscalls = append(o.Syscalls, call)
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
	p.MeanNs, p.P50Ns, p.P90Ns, p.P99Ns, p.P999Ns = figure(h.Mean()), figure(h.Quantile(.5)), figure(h.Quantile(.9)),
		figure(h.Quantile(.99)), figure(h.Quantile(.999))
	p.MaxNs = &h.Max
	for i, n := range h.Bucket {
		if n > 0 {
			p.Buckets = append(p.Buckets, [3]uint64{bpf.Edge(i), bpf.Edge(i + 1), n})
		}
	}
	return p
}
