// SPDX-License-Identifier: MIT

package counter

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/machine/measure"
)

// SamplerConfig says what a [Sampler] draws. The zero value draws every online
// CPU at DefaultInterval.
type SamplerConfig struct {
	FS       FS
	Interval time.Duration // 0 is DefaultInterval; no less than MinInterval
	CPUs     []int         // nil is all CPUs online at the start
	// Bytes returns the payload bytes of the flow so far; nil draws none. It is
	// called on the sampler's thread and must not block.
	Bytes func() uint64
	// Expect is how long it will run: memory for that, and half as much again,
	// is taken at the start. 0 is a minute. What is beyond is not recorded.
	Expect time.Duration
	// RunOn is where the sampler's thread may run, nil for anywhere. Keep it off
	// the measured CPUs where there are others.
	RunOn []int
}

// Bounds of the sampling interval. /proc/stat ticks every 10 ms, so that one
// sample at DefaultInterval is right to 0.1 cores and the mean of n to 0.1/n.
const (
	defaultInterval = 100 * time.Millisecond
	minInterval     = 20 * time.Millisecond
)

// Sampler draws per-CPU busy time and the flow's bytes at an interval, in its
// own thread, without allocating while it runs.
type Sampler struct {
	cfg  SamplerConfig
	stat *os.File // nil: the CPUs are not sampled
	cpus []int

	quit chan struct{}
	done sync.WaitGroup
	once sync.Once

	// Owned by the thread until done.
	buf        []byte
	ticks      [2][]CPUTicks // the last two reads, by turns
	n          int           // samples taken
	at         []int64       // CLOCK_MONOTONIC
	busy       [][]float64   // by position in cpus
	bytes      []float64
	costNs     int64
	fromNs     int64
	warnings   []string
	failed     int // reads that could not be used
	overflowed bool
}

// StartSampler begins to sample. It fails when /proc/stat cannot be read or a
// wanted CPU is not online. Where /proc/stat is not the kernel's, the flow's bytes alone are
// sampled, with a warning. Call Stop, also after a failed run.
func StartSampler(cfg SamplerConfig) (*Sampler, error) {
	if cfg.Interval == 0 {
		cfg.Interval = defaultInterval
	}
	if cfg.Interval < minInterval {
		return nil, fmt.Errorf(
			"start sampler: interval %v is shorter than the resolution of the kernel's columns: use %v or more",
			cfg.Interval, minInterval)
	}
	if cfg.Expect <= 0 {
		cfg.Expect = time.Minute
	}
	first, err := ReadCPU(cfg.FS)
	var unsure []string
	if kernelfile.IsNotKernels(err) && cfg.Bytes != nil {
		unsure, err = []string{"no time series of CPUs: /proc/stat is not the kernel's file"}, nil
		cfg.CPUs = []int{}
	}
	if err != nil {
		return nil, fmt.Errorf("start sampler: %w", err)
	}
	if cfg.CPUs == nil {
		cfg.CPUs = union(first.CPUs, nil)
	}
	for _, c := range cfg.CPUs {
		if find(first.CPUs, c) == nil {
			return nil, fmt.Errorf("start sampler: CPU %d is not online: choose among %s", c,
				FormatCPUList(union(first.CPUs, nil)))
		}
	}
	s := &Sampler{cfg: cfg, quit: make(chan struct{}), warnings: unsure}
	if unsure == nil {
		if s.stat, err = openStat(cfg.FS); err != nil {
			return nil, fmt.Errorf("start sampler: %w", err)
		}
	}
	s.allocate(len(first.CPUs))
	ready := make(chan struct{})
	s.done.Add(1)
	go s.run(ready)
	<-ready
	return s, nil
}

func openStat(fs FS) (*os.File, error) { return kernelfile.Open(fs.procPath("stat")) }

func (s *Sampler) allocate(online int) {
	s.cpus = slices.Clone(s.cfg.CPUs)
	limit := int(s.cfg.Expect*3/2/s.cfg.Interval) + 2
	s.at = make([]int64, limit)
	s.bytes = make([]float64, limit)
	s.busy = make([][]float64, len(s.cpus))
	for i := range s.busy {
		s.busy[i] = make([]float64, limit)
	}
	// Room for more CPUs than now: some may come online.
	s.ticks[0] = make([]CPUTicks, 0, 2*online+64)
	s.ticks[1] = make([]CPUTicks, 0, 2*online+64)
	s.buf = make([]byte, 128*(2*online+64))
}

func (s *Sampler) run(ready chan<- struct{}) {
	defer s.done.Done()
	runtime.LockOSThread() // for its clock; never unlocked when pinned, so that the thread ends with its affinity
	if s.cfg.RunOn != nil {
		s.pin()
	} else {
		defer runtime.UnlockOSThread()
	}
	tick := time.NewTicker(s.cfg.Interval)
	defer tick.Stop()
	s.fromNs = Monotonic()
	before := ownThreadClock()
	s.sample()
	close(ready)
	for {
		select {
		case <-s.quit:
			s.sample() // the last, shorter interval
			s.costNs = ownThreadClock() - before
			return
		case <-tick.C:
			s.sample()
		}
	}
}

func (s *Sampler) pin() {
	var set unix.CPUSet
	for _, c := range s.cfg.RunOn {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		s.warnings = append(s.warnings, fmt.Sprintf("sampler not pinned to CPU %s: %v", FormatCPUList(s.cfg.RunOn),
			err))
	}
}

// sample reads once. Nothing in it allocates. A read that fails leaves a gap.
func (s *Sampler) sample() {
	if s.n == len(s.at) {
		s.overflowed = true
		return
	}
	now := Monotonic()
	var cur []CPUTicks
	if s.stat != nil {
		var err error
		n, _ := s.stat.ReadAt(s.buf, 0)
		cur, err = parseStat(wholeLines(s.buf[:n], n == len(s.buf)), s.ticks[s.n&1][:0])
		s.ticks[s.n&1] = cur
		if err != nil || len(cur) == 0 {
			s.failed++
			return
		}
	}
	s.at[s.n] = now
	if s.cfg.Bytes != nil {
		s.bytes[s.n] = float64(s.cfg.Bytes())
	}
	if s.n > 0 {
		s.busySince(s.ticks[(s.n-1)&1], cur, float64(now-s.at[s.n-1])/1e9)
	}
	s.n++
}

// busySince stores each CPU's residual over the last interval, not clamped.
func (s *Sampler) busySince(before, cur []CPUTicks, wall float64) {
	for i, cpu := range s.cpus {
		b, a := find(before, cpu), find(cur, cpu)
		v := offline
		if b != nil && a != nil && !a.restarted(b) {
			v = a.busySince(b, wall)
		}
		s.busy[i][s.n] = v
	}
}

// offline marks a sample of a CPU that was not online. No residual is as low.
const offline = -1e9

// samples is what a [Sampler] drew and what drawing it cost.
type samples struct {
	// Series are cpuN_busy_cores over the interval that ends at each time,
	// flow_bytes (since the flow began) and throughput_gbps over the interval.
	Series []measure.Series
	// Metrics are the sampler's own cost.
	Metrics  []measure.Metric
	Warnings []string
}

// Stop ends the sampler and returns what it drew, with times since startNs, the
// CLOCK_MONOTONIC of the steady window's start. A second call returns the same
// samples.
func (s *Sampler) Stop(startNs int64) samples {
	s.once.Do(func() {
		close(s.quit)
		s.done.Wait()
		if s.stat != nil {
			s.stat.Close()
		}
	})
	out := samples{Warnings: slices.Clone(s.warnings)}
	if s.overflowed {
		out.Warnings = append(out.Warnings, fmt.Sprintf("samples end after %d: the run was longer than expected", s.n))
	}
	if s.failed > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d samples missing: /proc/stat could not be read", s.failed))
	}
	for i, cpu := range s.cpus {
		out.Series = append(out.Series, s.busySeries(i, cpu, startNs))
	}
	if s.cfg.Bytes != nil {
		out.Series = append(out.Series, s.flowSeries(startNs)...)
	}
	wall := float64(max(s.last()-s.fromNs, 1)) / 1e9
	out.Metrics = []measure.Metric{
		{Name: "counter_sampler_cores", Unit: "cores", Value: float64(s.costNs) / 1e9 / wall,
			Source: "CLOCK_THREAD_CPUTIME_ID"},
		{Name: "counter_sampler_samples", Unit: "1", Value: float64(s.n), Source: "sampler"},
	}
	return out
}

func (s *Sampler) last() int64 {
	if s.n == 0 {
		return s.fromNs
	}
	return s.at[s.n-1]
}

func (s *Sampler) busySeries(i, cpu int, startNs int64) measure.Series {
	out := measure.Series{Name: fmt.Sprintf("cpu%d_busy_cores", cpu), Unit: "cores"}
	for k := 1; k < s.n; k++ {
		if s.busy[i][k] != offline {
			out.T, out.V = append(out.T, s.at[k]-startNs), append(out.V, s.busy[i][k])
		}
	}
	return out
}

func (s *Sampler) flowSeries(startNs int64) []measure.Series {
	total := measure.Series{Name: "flow_bytes", Unit: "bytes"}
	rate := measure.Series{Name: "throughput_gbps", Unit: "Gbit/s"}
	for k := range s.n {
		total.T, total.V = append(total.T, s.at[k]-startNs), append(total.V, s.bytes[k])
		if k > 0 && s.at[k] > s.at[k-1] {
			bits := 8 * (s.bytes[k] - s.bytes[k-1])
			rate.T, rate.V = append(rate.T, s.at[k]-startNs), append(rate.V, bits/float64(s.at[k]-s.at[k-1]))
		}
	}
	return []measure.Series{total, rate}
}

// CostMetrics describe what sampling and snapshots took.
var CostMetrics = []measure.MetricDoc{
	{Names: "counter_sampler_cores counter_sampler_samples counter_snapshot_cpu_ns " +
		"counter_snapshot_wall_ns",
		Units: "cores 1 ns ns", Source: "CLOCK_THREAD_CPUTIME_ID; sampler; CLOCK_MONOTONIC",
		Meaning: "what measuring itself took"},
}

// SamplerSeries describe bytes and busy CPUs over time.
var SamplerSeries = []measure.MetricDoc{
	{Names: "flow_bytes throughput_gbps", Units: "bytes Gbit/s",
		Meaning: "payload of the flow so far; since the reading before; in turns a row for each that counts, " +
			"at the end of its part at pace (docs/matrix.md)"},
	{Names: "cpuN_busy_cores", Units: "cores", Meaning: "as above, since the reading before"},
}
