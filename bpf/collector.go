package bpf

import (
	"errors"
	"math"
	"math/bits"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Collector gives the stages to Prometheus as histograms in seconds.
//
// Its buckets end at powers of two nanoseconds. A bucket of ours is exclusive of
// its upper edge and times are whole nanoseconds, while Prometheus's `le` is
// inclusive: so `le` is the edge less one nanosecond. A scraper that takes
// protocol buffers gets a native histogram besides, of buckets 9 % wide. Its edges
// are powers of 2^(1/8) seconds, which ours do not meet: a bucket of ours goes as a
// whole into the one that holds its middle.
type Collector struct {
	mu   sync.Mutex
	last []StageHist
}

var (
	latencyDesc = prometheus.NewDesc("zcbench_latency_seconds", "Age of received packets at each stage.", []string{"stage"}, nil)
	lostDesc    = prometheus.NewDesc("zcbench_latency_unmeasured_total", "Packets without a usable time.", []string{"stage", "reason"}, nil)
)

// Update gives the collector a reading.
func (c *Collector) Update(s []StageHist) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = s
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) { ch <- latencyDesc; ch <- lostDesc }

// Collect implements prometheus.Collector.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.last {
		h := &s.Hist
		ch <- histogram{prometheus.MustNewConstHistogram(latencyDesc, h.Count(), float64(h.Sum)/1e9, cumulative(h), s.Stage), native(h, s.Stage)}
		ch <- prometheus.MustNewConstMetric(lostDesc, prometheus.CounterValue, float64(h.Unstamped), s.Stage, "unstamped")
		ch <- prometheus.MustNewConstMetric(lostDesc, prometheus.CounterValue, float64(h.Negative), s.Stage, "negative")
	}
}

// cumulative is the count of values up to and with each `le`, in seconds. The
// last bucket has no upper edge: it is in +Inf alone.
func cumulative(h *Hist) map[float64]uint64 {
	m := map[float64]uint64{}
	var n uint64
	for i := range Buckets - 1 {
		n += h.Bucket[i]
		if next := Edge(i + 1); next >= 64 && bits.OnesCount64(next) == 1 {
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

func native(h *Hist, stage string) prometheus.Metric {
	positive := map[int]int64{}
	for i := 1; i < Buckets; i++ {
		if n := h.Bucket[i]; n > 0 {
			middle := (float64(Edge(i)) + float64(Edge(i+1)-1)) / 2e9
			positive[int(math.Ceil(math.Log2(middle)*(1<<nativeSchema)))] += int64(n)
		}
	}
	const zero = .5e-9 // seconds: of whole nanoseconds only 0 is below
	return prometheus.MustNewConstNativeHistogram(latencyDesc, h.Count(), float64(h.Sum)/1e9, positive, nil, h.Bucket[0], nativeSchema, zero, time.Time{}, stage)
}
