// SPDX-License-Identifier: MIT

package prom

import (
	"bytes"
	"flag"
	"math"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/internal/kind"
)

const _ = kind.Pure

var update = flag.Bool("update", false, "rewrite the golden file")

// histOf is a histogram of values.
func histOf(values ...uint64) *bpf.Hist {
	h := &bpf.Hist{}
	for _, v := range values {
		i := 0
		for i+1 < bpf.Buckets && bpf.Edge(i+1) <= v {
			i++
		}
		h.Bucket[i]++
		h.Sum += v
		h.Max = max(h.Max, v)
	}
	return h
}

// A value on an edge belongs to the bucket above it, and le is inclusive.
func TestCumulative(t *testing.T) {
	m := cumulative(histOf(1023, 1024, 2047, 2048, 1<<40))
	for le, want := range map[float64]uint64{1023e-9: 1, 2047e-9: 3, 4095e-9: 4} {
		if got, ok := m[le]; !ok || got != want {
			t.Errorf("le %g: %d values, want %d", le, got, want)
		}
	}
	if got := m[float64(1<<33-1)/1e9]; got != 4 {
		t.Errorf("a value beyond the last edge is in a bucket with an edge: %d", got)
	}
}

// One metric is both kinds of histogram: they agree on the count, and the native
// one keeps a quantile to within its own buckets and ours.
func TestNativeHistogram(t *testing.T) {
	var c Collector
	h := histOf(0, 1, 700, 5000, 5000, 5100, 1<<20, 1<<40)
	c.Update(bpf.Totals{Stages: []bpf.StageHist{{Stage: "tcp-read", Hist: *h}}})
	families, err := gather(t, &c)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "zcbench_latency_seconds" {
			continue
		}
		m := f.GetMetric()[0].GetHistogram()
		if m.GetSampleCount() != 8 || len(m.GetBucket()) == 0 || m.GetSchema() != 3 || m.GetZeroCount() != 1 {
			t.Errorf("%v", m)
		}
		// The middle of the values, 5000 ns, lies in the native bucket that the
		// running count passes a half in.
		var key int32
		var n, below int64
		k := 0
		for _, s := range m.GetPositiveSpan() {
			key += s.GetOffset()
			for range s.GetLength() {
				n += m.GetPositiveDelta()[k]
				k++
				if below += n; below+int64(m.GetZeroCount()) >= 4 {
					if hi := math.Exp2(float64(key)/8) * 1e9; hi < 5000/1.07 || hi > 5000*1.17 {
						t.Errorf("the median is below %.0f ns, want 5000", hi)
					}
					return
				}
				key++
			}
		}
	}
	t.Error("no native histogram")
}

func gather(t *testing.T, c *Collector) ([]*dto.MetricFamily, error) {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(c)
	return reg.Gather()
}

// All that the probes count is there, in base units, and passes Prometheus's own
// rules for names.
func TestCollectorCounters(t *testing.T) {
	var c Collector
	var counts []bpf.Count
	for i, p := range bpf.Counters() {
		counts = append(counts, bpf.Count{Name: p.Name, Unit: p.Unit, Value: uint64(100 + i)})
	}
	c.Update(bpf.Totals{Stages: []bpf.StageHist{{Stage: "tcp-read", Hist: bpf.Hist{Unstamped: 2, Negative: 3}}},
		Sample: 8, Missed: 4, Counts: counts,
		Calls: []bpf.Call{{Name: "recvfrom", Errors: 1, Calls: 2, Sum: 8 * time.Millisecond, Min: 3 * time.Millisecond,
			Max: 5 * time.Millisecond}}})
	families, err := gather(t, &c)
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	var b bytes.Buffer
	for _, f := range families {
		if f.GetType() == dto.MetricType_HISTOGRAM {
			continue
		}
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			t.Fatal(err)
		}
	}
	const path = "testdata/metrics.golden"
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", path, diff)
	}
}
