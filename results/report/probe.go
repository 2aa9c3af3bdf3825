// SPDX-License-Identifier: MIT

package report

import (
	"slices"
	"strings"

	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// Probed is what eBPF probes saw of one end of a cell (docs/probes.md): medians
// over its ok runs. A nil figure was not measured.
type Probed struct {
	Stages   []Stage   `json:"stages,omitempty"` // in the order of a packet's way
	T0       string    `json:"t0,omitempty"`     // where the stages' times begin
	Calls    []Syscall `json:"syscalls,omitempty"`
	Counters []Counter `json:"counters,omitempty"`
}

// Stage is the age of packets at one place of the receive path, ns.
type Stage struct {
	Name      string   `json:"stage"` // as in metrics.csv: tcp_read
	Hook      string   `json:"hook,omitempty"`
	Count     *float64 `json:"count"` // packets
	Mean      *float64 `json:"mean_ns,omitempty"`
	P50       *float64 `json:"p50_ns,omitempty"`
	P90       *float64 `json:"p90_ns,omitempty"`
	P99       *float64 `json:"p99_ns,omitempty"`
	P999      *float64 `json:"p999_ns,omitempty"`
	Max       *float64 `json:"max_ns,omitempty"`
	Negative  *float64 `json:"negative,omitempty"`  // packets stamped in the future
	Unstamped *float64 `json:"unstamped,omitempty"` // packets
}

// OwnEvent tells that the stage's times begin with an event of its own, not with
// the receive stamp.
func (s Stage) OwnEvent() bool { return s.Name == "softirq_run" || s.Name == "wake_return" }

// Label is the stage's name in tables.
func (s Stage) Label() string { return strings.ReplaceAll(s.Name, "_", "-") }

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
	PerMB *float64 `json:"per_mb"`
}

// figureNames are what the names of a probe's metrics end in.
var (
	stageFigures = []string{"count", "mean", "p50", "p90", "p99", "p999", "max", "negative", "unstamped"}
	callFigures  = []string{"calls", "errors", "total", "min", "avg", "max", "stddev", "per_second", "per_mb"}
)

// probed reads the probes' metrics of one end; nil if there are none.
func probed(runs []*results.Record, host func(*results.Record) *results.Host) *Probed {
	m := newMetricTable(runs, host)
	p := &Probed{}
	for _, name := range m.groups("latency_", stageFigures) {
		f := func(what string) *float64 { return m.median("latency_" + name + "_" + what) }
		s := Stage{Name: name, Count: f("count"), Mean: f("mean"), P50: f("p50"), P90: f("p90"), P99: f("p99"), P999: f("p999"), Max: f("max"),
			Negative: f("negative"), Unstamped: f("unstamped")}
		s.Hook, p.T0 = m.origin("latency_"+name+"_count", p.T0)
		p.Stages = append(p.Stages, s)
	}
	for _, name := range m.groups("syscall_", callFigures) {
		f := func(what string) *float64 { return m.median("syscall_" + name + "_" + what) }
		p.Calls = append(p.Calls, Syscall{name, f("calls"), f("errors"), f("total"), f("min"), f("avg"), f("max"), f("stddev"), f("per_second"), f("per_mb")})
	}
	slices.SortStableFunc(p.Calls, func(a, b Syscall) int { return compareDown(a.Total, b.Total) })
	for _, name := range m.names {
		if short, ok := strings.CutPrefix(name, "probe_"); ok {
			p.Counters = append(p.Counters, Counter{short, m.first[name].Unit, m.median(name), m.perMB(name)})
		}
	}
	if len(p.Stages)+len(p.Calls)+len(p.Counters) == 0 {
		return nil
	}
	return p
}

func compareDown(a, b *float64) int {
	switch {
	case a == nil || b == nil || *a == *b:
		return 0
	case *a > *b:
		return -1
	}
	return 1
}

// metricTable is the probes' metrics of all runs by name.
type metricTable struct {
	names  []string // in the order they first came
	first  map[string]results.Metric
	values map[string][]float64
	perMBs map[string][]float64
}

// probeSource is how the source of a probe's metric begins.
const probeSource = "eBPF"

func newMetricTable(runs []*results.Record, host func(*results.Record) *results.Host) *metricTable {
	t := &metricTable{first: map[string]results.Metric{}, values: map[string][]float64{}, perMBs: map[string][]float64{}}
	for _, r := range runs {
		h := host(r)
		for _, m := range h.Metrics {
			if !strings.HasPrefix(m.Source, probeSource) {
				continue
			}
			if _, ok := t.first[m.Name]; !ok {
				t.names, t.first[m.Name] = append(t.names, m.Name), m
			}
			t.values[m.Name] = append(t.values[m.Name], m.Value)
			if h.Bytes != nil && *h.Bytes > 0 {
				t.perMBs[m.Name] = append(t.perMBs[m.Name], m.Value/(float64(*h.Bytes)/1e6))
			}
		}
	}
	return t
}

// groups are the X of the metrics PREFIX_X_FIGURE, in the order they first came.
func (t *metricTable) groups(prefix string, figures []string) []string {
	var out []string
	for _, name := range t.names {
		short, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		for _, f := range figures {
			if x, ok := strings.CutSuffix(short, "_"+f); ok && !slices.Contains(out, x) {
				out = append(out, x)
			}
		}
	}
	return out
}

func (t *metricTable) median(name string) *float64 { return medianOf(t.values[name]) }

func (t *metricTable) perMB(name string) *float64 { return medianOf(t.perMBs[name]) }

func medianOf(v []float64) *float64 {
	if s := stat.Summarize(v); s != nil {
		return &s.Median
	}
	return nil
}

// origin reads where a stage's program sits, and where its times begin, out of a
// metric's source: "eBPF fentry/tcp_v4_rcv; t0: tcx ingress of veth0".
func (t *metricTable) origin(name, known string) (hook, t0 string) {
	hook, t0, found := strings.Cut(strings.TrimSpace(strings.TrimPrefix(t.first[name].Source, probeSource)), "; t0: ")
	if !found {
		t0 = known
	}
	return hook, t0
}
