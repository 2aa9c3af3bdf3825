package bpf

import (
	"math/bits"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Collector gives the stages to Prometheus as histograms in seconds.
//
// Its buckets end at powers of two nanoseconds. A bucket of ours is exclusive of
// its upper edge and times are whole nanoseconds, while Prometheus's `le` is
// inclusive: so `le` is the edge less one nanosecond. Native histograms have
// edges at powers of two seconds, which ours do not meet.
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
		ch <- prometheus.MustNewConstHistogram(latencyDesc, h.Count(), float64(h.Sum)/1e9, cumulative(h), s.Stage)
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
