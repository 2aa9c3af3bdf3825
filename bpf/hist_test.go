// SPDX-License-Identifier: MIT

package bpf

import (
	"math"
	"math/bits"
	"testing"
)

func TestEdges(t *testing.T) {
	for i := range Buckets {
		lo, hi := Edge(i), Edge(i+1)
		if bucketOf(lo) != i || bucketOf(hi-1) != i {
			t.Fatalf("bucket %d: %d..%d land in %d and %d", i, lo, hi-1, bucketOf(lo), bucketOf(hi-1))
		}
		if width := hi - lo; i >= 16 && float64(width) > float64(lo)/16 {
			t.Errorf("bucket %d: %d wide from %d: more than 6.25 %%", i, width, lo)
		}
	}
	if got := bucketOf(math.MaxUint64); got != Buckets-1 {
		t.Errorf("the longest time is in bucket %d", got)
	}
}

func histOf(values ...uint64) *Hist {
	h := &Hist{}
	for _, v := range values {
		h.Bucket[bucketOf(v)]++
		h.Sum += v
		h.Max = max(h.Max, v)
	}
	return h
}

func TestQuantile(t *testing.T) {
	h := &Hist{}
	if h.Quantile(0.5) != 0 || h.Mean() != 0 {
		t.Error("an empty histogram has figures")
	}
	for v := uint64(1); v <= 100_000; v++ {
		h.Bucket[bucketOf(v)]++
		h.Sum += v
	}
	h.Max = 100_000
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999, 1} {
		want := q * 100_000
		if got := h.Quantile(q); math.Abs(got-want) > want/16 {
			t.Errorf("quantile %g is %g, want %g within a bucket", q, got, want)
		}
	}
}

func TestSub(t *testing.T) {
	a, b := histOf(5, 1000), histOf(5, 1000, 70, 90)
	d := b.Sub(a)
	if d.Count() != 2 || d.Sum != 160 || d.Max != Edge(bucketOf(90)+1)-1 {
		t.Errorf("difference: count %d, sum %d, max %d", d.Count(), d.Sum, d.Max)
	}
	c := histOf(5, 1000, 2000)
	if d := c.Sub(a); d.Max != 2000 {
		t.Errorf("a new maximum of 2000 is reported as %d", d.Max)
	}
}

// A CPU's 32-bit bucket may wrap between two readings.
func TestAddWraps(t *testing.T) {
	var h Hist
	var last, now rawHist
	last.Bucket[3], now.Bucket[3] = math.MaxUint32, 4
	h.add(&now, &last)
	if h.Bucket[3] != 5 {
		t.Errorf("%d values came, want 5", h.Bucket[3])
	}
}

// bucketOf is the bucket of a value, as hist.h has it.
func bucketOf(ns uint64) int {
	if ns < 16 {
		return int(ns)
	}
	ns = min(ns, 1<<34-1)
	e := bits.Len64(ns) - 1
	return (e-3)<<4 + int(ns>>(e-4))&15
}
