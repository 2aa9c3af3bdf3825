// SPDX-License-Identifier: MIT

package results

import (
	"slices"
	"strings"

	"github.com/zcbench/zcbench/machine/measure"
)

// Probes is what probes saw of one end (docs/probes.md, docs/profile.md). Figures that are nil were
// not measured.
type Probes struct {
	Sample   int       `json:"sample_packets,omitempty"` // of how many packets the latency probe looked at one
	T0       string    `json:"t0,omitempty"`             // where the stages' times begin
	Stages   []Stage   `json:"stages,omitempty"`         // in the order of a packet's way
	Calls    []Syscall `json:"syscalls,omitempty"`
	Counters []Counter `json:"counters,omitempty"`
	Drops    *Drops    `json:"drops,omitempty"` // nil: nobody looked
	// Flow are the series of the probe tcp, of the first flow, in as many points as a plot
	// needs: samples.csv has all.
	Flow      []measure.Series `json:"flow,omitempty"`
	FlowCores *float64         `json:"flow_cores,omitempty"` // that drawing them took
	Profile   *Profiled        `json:"profile,omitempty"`    // samples; nil: none were taken
}

// Stage is the age of packets at one place of the receive path.
type Stage struct {
	Name      string   `json:"stage"` // as in metrics.csv: tcp_read
	Hook      string   `json:"hook,omitempty"`
	Count     *float64 `json:"count"`
	Mean      *float64 `json:"mean_ns,omitempty"`
	P50       *float64 `json:"p50_ns,omitempty"`
	P90       *float64 `json:"p90_ns,omitempty"`
	P99       *float64 `json:"p99_ns,omitempty"`
	P999      *float64 `json:"p999_ns,omitempty"`
	Max       *float64 `json:"max_ns,omitempty"`
	Negative  *float64 `json:"negative,omitempty"`  // packets stamped in the future
	Unstamped *float64 `json:"unstamped,omitempty"` // packets
}

// OwnEvent reports whether the stage's times begin with an event of its own rather than with the
// receive stamp.
func (s Stage) OwnEvent() bool { return s.Name == "softirq_run" || s.Name == "wake_return" }

// Label returns the stage's name in tables.
func (s Stage) Label() string { return strings.ReplaceAll(s.Name, "_", "-") }

// runtimeCalls are those that the agent's other threads make, and no data path does: Go's threads
// wait in them for work, for the network's events and for the time to come.
var runtimeCalls = []string{"futex", "nanosleep", "epoll_pwait", "epoll_wait", "epoll_ctl", "sched_yield", "madvise",
	"tgkill", "getpid", "rt_sigreturn"}

// OfRuntime reports whether Go's runtime makes the call. Its time is that of threads that wait
// beside the data path's, each of which may wait all the time.
func (c Syscall) OfRuntime() bool { return slices.Contains(runtimeCalls, c.Name) }

// Syscall is what the end's process did with one system call.
type Syscall struct {
	Name      string   `json:"syscall"`
	Calls     *float64 `json:"calls"`
	Errors    *float64 `json:"errors"`
	Total     *float64 `json:"total_ms"`
	Min       *float64 `json:"min_ms"`
	Avg       *float64 `json:"avg_ms"`
	Max       *float64 `json:"max_ms"`
	Stddev    *float64 `json:"stddev_percent"` // of the mean
	PerSecond *float64 `json:"per_second"`
	PerMB     *float64 `json:"per_mb"` // 10^6 bytes of payload
}

// Counter is one counter of the receive path.
type Counter struct {
	Name  string   `json:"counter"`
	Unit  string   `json:"unit"`
	Value *float64 `json:"value"` // of a run
}

// ProbeFigure is one figure of what a probe saw.
type ProbeFigure struct {
	Name, Unit string // as in metrics.csv
	Value      **float64
}

// Figures lists the stage's figures in the order of metrics.csv.
func (s *Stage) Figures() []ProbeFigure {
	return []ProbeFigure{
		{"count", "packets", &s.Count}, {"unstamped", "packets", &s.Unstamped}, {"negative", "packets", &s.Negative},
		{"mean", "ns", &s.Mean}, {"p50", "ns", &s.P50}, {"p90", "ns", &s.P90}, {"p99", "ns", &s.P99},
		{"p999", "ns", &s.P999}, {"max", "ns", &s.Max},
	}
}

// Figures lists the call's figures in the order of metrics.csv.
func (c *Syscall) Figures() []ProbeFigure {
	return []ProbeFigure{
		{"calls", "1", &c.Calls}, {"errors", "1", &c.Errors}, {"total", "ms", &c.Total}, {"min", "ms", &c.Min},
		{"avg", "ms", &c.Avg}, {"max", "ms", &c.Max}, {"stddev", "%", &c.Stddev}, {"per_second", "1/s", &c.PerSecond},
		{"per_mb", "1/MB", &c.PerMB},
	}
}

// probeSource is how the source of a probe's metric begins; sourceT0 stands before where
// its times begin.
const (
	probeSource = "eBPF"
	sourceT0    = "; t0: "
)

// rows turns what the probes saw into rows of metrics.csv.
func (p *Probes) rows() (out []measure.Metric) {
	if p == nil {
		return nil
	}
	for i := range p.Stages {
		s := &p.Stages[i]
		source := probeSource + " " + s.Hook
		if !s.OwnEvent() {
			source += sourceT0 + p.T0
		}
		out = append(out, figureRows("latency_"+s.Name, source, s.Figures())...)
	}
	if p.Sample > 0 && len(out) > 0 {
		out = append(out, measure.Metric{Name: "latency_sample_packets", Unit: "packets", Value: float64(p.Sample),
			Source: probeSource})
	}
	for i := range p.Calls {
		out = append(out, figureRows("syscall_"+p.Calls[i].Name, probeSource, p.Calls[i].Figures())...)
	}
	for _, c := range p.Counters {
		if c.Value != nil {
			out = append(out, measure.Metric{Name: "probe_" + c.Name, Unit: c.Unit, Value: *c.Value,
				Source: probeSource})
		}
	}
	out = append(out, p.Drops.rows()...)
	return append(out, p.Profile.rows()...)
}

func figureRows(name, source string, figures []ProbeFigure) (out []measure.Metric) {
	for _, f := range figures {
		if v := *f.Value; v != nil {
			out = append(out, measure.Metric{Name: name + "_" + f.Name, Unit: f.Unit, Value: *v, Source: source})
		}
	}
	return out
}
