// SPDX-License-Identifier: MIT

// Package prom gives what eBPF probes count to Prometheus. It is apart from them
// because Prometheus's library is large, and most of what probes does not serve it.
package prom

import (
	"errors"
	"math"
	"math/bits"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/zcbench/zcbench/bpf"
)

// Collector gives what probes have counted since the beginning to Prometheus: the
// stages as histograms in seconds, the rest as counters.
//
// The histograms' buckets end at powers of two nanoseconds. A bucket of ours is
// exclusive of its upper edge and times are whole nanoseconds, while Prometheus's
// `le` is inclusive: so `le` is the edge less one nanosecond. A scraper that takes
// protocol buffers gets a native histogram besides, of buckets 9 % wide. Its edges
// are powers of 2^(1/8) seconds, which ours do not meet: a bucket of ours goes as a
// whole into the one that holds its middle.
type Collector struct {
	mu   sync.Mutex
	last bpf.Totals
}

var (
	latencyDesc = prometheus.NewDesc("zcbench_latency_seconds", "Age of received packets at each stage.",
		[]string{"stage"}, nil)
	sampleDesc = prometheus.NewDesc("zcbench_latency_sample_packets",
		"Sampling ratio: the histograms hold 1 in this many packets.", nil, nil)
	lostDesc = prometheus.NewDesc("zcbench_latency_unmeasured_total", "Packets without a usable time.",
		[]string{"stage", "reason"}, nil)
	missedDesc = prometheus.NewDesc("zcbench_missed_runs_total",
		"Program runs that the kernel skipped because they had interrupted themselves.", nil, nil)
	callsDesc = prometheus.NewDesc("zcbench_syscalls_total", "System calls of the process that returned.",
		[]string{"syscall"}, nil)
	errorsDesc = prometheus.NewDesc("zcbench_syscall_errors_total", "System calls of the process that failed.",
		[]string{"syscall"}, nil)
	callTimeDesc = prometheus.NewDesc("zcbench_syscall_seconds_total", "Time that the process spent in system calls.",
		[]string{"syscall"}, nil)
	pathDescs = func() map[string]*prometheus.Desc {
		m := map[string]*prometheus.Desc{}
		for _, c := range bpf.Counters() {
			m[c.Name] = prometheus.NewDesc("zcbench_"+c.Name+"_total", c.Help, nil, nil)
		}
		return m
	}()
)

// Update gives the collector a reading.
func (c *Collector) Update(t bpf.Totals) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = t
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{latencyDesc, sampleDesc, lostDesc, missedDesc, callsDesc, errorsDesc,
		callTimeDesc} {
		ch <- d
	}
	for _, d := range pathDescs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	t := c.last
	c.mu.Unlock()
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	for _, s := range t.Stages {
		h := &s.Hist
		ch <- histogram{prometheus.MustNewConstHistogram(latencyDesc, h.Count(), float64(h.Sum)/1e9, cumulative(h),
			s.Stage), native(h, s.Stage)}
		counter(lostDesc, float64(h.Unstamped), s.Stage, "unstamped")
		counter(lostDesc, float64(h.Negative), s.Stage, "negative")
	}
	if t.Sample > 0 {
		ch <- prometheus.MustNewConstMetric(sampleDesc, prometheus.GaugeValue, float64(t.Sample))
	}
	counter(missedDesc, float64(t.Missed))
	for _, n := range t.Counts {
		counter(pathDescs[n.Name], float64(n.Value))
	}
	for _, call := range t.Calls {
		counter(callsDesc, float64(call.Calls), call.Name)
		counter(errorsDesc, float64(call.Errors), call.Name)
		counter(callTimeDesc, call.Sum.Seconds(), call.Name)
	}
}

// cumulative counts the values up to and with each `le`, in seconds. The last bucket has no upper
// edge: it is in +Inf alone.
func cumulative(h *bpf.Hist) map[float64]uint64 {
	m := map[float64]uint64{}
	var n uint64
	for i := range bpf.Buckets - 1 {
		n += h.Bucket[i]
		if next := bpf.Edge(i + 1); next >= 64 && bits.OnesCount64(next) == 1 {
			m[float64(next-1)/1e9] = n
		}
	}
	return m
}

// histogram is both kinds in one.
type histogram struct {
	prometheus.Metric
	native prometheus.Metric
}

// Write implements prometheus.Metric.
func (h histogram) Write(m *dto.Metric) error {
	var n dto.Metric
	if err := errors.Join(h.Metric.Write(m), h.native.Write(&n)); err != nil {
		return err
	}
	to, from := m.Histogram, n.Histogram
	to.Schema, to.ZeroThreshold, to.ZeroCount = from.Schema, from.ZeroThreshold, from.ZeroCount
	to.PositiveSpan, to.PositiveDelta = from.PositiveSpan, from.PositiveDelta
	return nil
}

// nativeSchema makes 8 buckets of each power of two.
const nativeSchema = 3

func native(h *bpf.Hist, stage string) prometheus.Metric {
	positive := map[int]int64{}
	for i := 1; i < bpf.Buckets; i++ {
		if n := h.Bucket[i]; n > 0 {
			middle := (float64(bpf.Edge(i)) + float64(bpf.Edge(i+1)-1)) / 2e9
			positive[int(math.Ceil(math.Log2(middle)*(1<<nativeSchema)))] += int64(n)
		}
	}
	const zero = .5e-9 // seconds: of whole nanoseconds only 0 is below
	return prometheus.MustNewConstNativeHistogram(latencyDesc, h.Count(), float64(h.Sum)/1e9, positive, nil,
		h.Bucket[0], nativeSchema, zero, time.Time{}, stage)
}
