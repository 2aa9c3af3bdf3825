// SPDX-License-Identifier: MIT

package counter

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
)

func TestSampler(t *testing.T) {
	var bytes atomic.Uint64
	cpu := lastAllowedCPU(t)
	s, err := StartSampler(SamplerConfig{Interval: 50 * time.Millisecond, CPUs: []int{cpu},
		Bytes: func() uint64 { return bytes.Add(1000) }})
	if err != nil {
		t.Fatal(err)
	}
	start := Monotonic()
	await.Until(t, "ten samples", func() bool { return bytes.Load() >= 10*1000 })
	got := s.Stop(start)
	if len(got.Series) != 3 || len(got.Warnings) != 0 {
		t.Fatalf("%d series, warnings %q", len(got.Series), got.Warnings)
	}
	for _, series := range got.Series {
		if len(series.T) != len(series.V) || len(series.T) < 5 {
			t.Errorf("%s: %d times, %d values", series.Name, len(series.T), len(series.V))
		}
		for i := 1; i < len(series.T); i++ {
			if series.T[i] <= series.T[i-1] {
				t.Errorf("%s: time runs backwards at %d", series.Name, i)
			}
		}
	}
	flow := got.Series[1]
	if flow.Name != "flow_bytes" || flow.T[0] > 0 || flow.V[1]-flow.V[0] != 1000 {
		t.Errorf("flow: %+v", flow)
	}
	if rate := got.Series[2]; rate.Name != "throughput_gbps" || rate.V[0] <= 0 {
		t.Errorf("rate: %+v", rate)
	}
	if cost := metric(t, got.Metrics, "counter_sampler_cores"); cost.Value <= 0 {
		t.Errorf("cost %v cores", cost.Value)
	}
	if again := s.Stop(start); len(again.Series) != 3 {
		t.Error("a second Stop lost the samples")
	}
}

func TestSamplerIsCheap(t *testing.T) {
	kind.Timed(t)
	s, err := StartSampler(SamplerConfig{Interval: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(520 * time.Millisecond)
	cost := metric(t, s.Stop(0).Metrics, "counter_sampler_cores")
	t.Logf("sampling every 50 ms costs %.5f cores", cost.Value)
	if cost.Value > 0.2 {
		t.Errorf("cost %v cores", cost.Value)
	}
}

// The mean of the samples is the busy time of the whole: rounding of one sample
// is taken back by the next.
func TestSamplerAgreesWithUsage(t *testing.T) {
	kind.Timed(t)
	cpu := lastAllowedCPU(t)
	before, err := ReadCPU(FS{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := StartSampler(SamplerConfig{Interval: 20 * time.Millisecond, CPUs: []int{cpu}})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	series := s.Stop(before.AtNs).Series[0]
	after, err := ReadCPU(FS{})
	if err != nil {
		t.Fatal(err)
	}
	var sum, wall float64
	last := int64(0)
	for i, v := range series.V {
		d := float64(series.T[i] - last)
		sum, wall, last = sum+v*d, wall+d, series.T[i]
	}
	if want, got := *Usage(before, after, []int{cpu}).BusyCores, sum/wall; got < want-0.06 || got > want+0.06 {
		t.Errorf("samples average %.3f busy cores, the window has %.3f", got, want)
	}
}

func TestSamplerHotplug(t *testing.T) {
	s := &Sampler{cpus: []int{0, 1, 2}, n: 1, at: []int64{0, 1e9}, busy: [][]float64{{0, 0}, {0, 0}, {0, 0}}}
	before := []CPUTicks{{CPU: 0, Idle: 100}, {CPU: 1, Idle: 100}, {CPU: 2, Idle: 100}}
	s.busySince(before, []CPUTicks{{CPU: 0, Idle: 160}, {CPU: 2, Idle: 3}}, 1)
	s.n++
	for i, want := range []int{1, 0, 0} {
		if got := s.busySeries(i, i, 0); len(got.V) != want {
			t.Errorf("CPU %d: %v, want %d samples", i, got.V, want)
		}
	}
	if v := s.busySeries(0, 0, 0).V[0]; !near(v, 0.4) {
		t.Errorf("busy %v, want 0.4", v)
	}
}

func TestSamplerOverflow(t *testing.T) {
	var taken atomic.Int32
	s, err := StartSampler(SamplerConfig{Interval: 20 * time.Millisecond, Expect: time.Millisecond,
		RunOn: []int{lastAllowedCPU(t)},
		Bytes: func() uint64 { return uint64(taken.Add(1)) }})
	if err != nil {
		t.Fatal(err)
	}
	await.Until(t, "all samples for which there is room", func() bool { return taken.Load() == 2 })
	got := s.Stop(0) // takes one more
	if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "samples end after 2") {
		t.Errorf("warnings %q", got.Warnings)
	}
}

func TestSamplerRefuses(t *testing.T) {
	for _, cfg := range []SamplerConfig{{Interval: time.Millisecond}, {CPUs: []int{99999}},
		{FS: FS{proc: "testdata"}}} {
		if s, err := StartSampler(cfg); err == nil {
			s.Stop(0)
			t.Errorf("%+v did not fail", cfg)
		}
	}
}

func BenchmarkSample(b *testing.B) {
	s, err := StartSampler(SamplerConfig{Interval: time.Hour, Bytes: func() uint64 { return 1 }})
	if err != nil {
		b.Fatal(err)
	}
	s.Stop(0)
	if s.stat, err = openStat(FS{}); err != nil {
		b.Fatal(err)
	}
	defer s.stat.Close()
	b.ReportAllocs()
	for b.Loop() {
		s.n = 1
		s.sample()
	}
}

func TestSampleDoesNotAllocate(t *testing.T) {
	s, err := StartSampler(SamplerConfig{Interval: time.Hour, Bytes: func() uint64 { return 1 }})
	if err != nil {
		t.Fatal(err)
	}
	s.Stop(0)
	if s.stat, err = openStat(FS{}); err != nil {
		t.Fatal(err)
	}
	defer s.stat.Close()
	if n := testing.AllocsPerRun(100, func() { s.n = 1; s.sample() }); n != 0 {
		t.Errorf("%v allocations per sample", n)
	}
}
