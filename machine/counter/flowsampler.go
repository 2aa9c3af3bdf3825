// SPDX-License-Identifier: MIT

package counter

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/zcbench/zcbench/machine/measure"
)

// flowReading is what the kernel told of a socket: TCP_INFO, n bytes of it, and SO_MEMINFO.
type flowReading struct {
	info   tcpInfo
	n      uintptr
	mem    MemInfo
	hasMem bool
}

// flowFigures are what a [FlowSampler] draws of a socket, by their names in samples.csv. of is
// false where the kernel has none, or none yet.
var flowFigures = []struct {
	name, unit string
	of         func(r *flowReading) (float64, bool)
}{
	{"tcp_cwnd_packets", "packets", func(r *flowReading) (float64, bool) {
		return float64(r.info.SndCwnd),
			told(r, &r.info.SndCwnd)
	}},
	// include/net/tcp.h: TCP_INFINITE_SSTHRESH, until a loss has set one.
	{"tcp_ssthresh_packets", "packets", func(r *flowReading) (float64, bool) {
		return float64(r.info.SndSsthresh), told(r, &r.info.SndSsthresh) && r.info.SndSsthresh < math.MaxInt32
	}},
	{"tcp_srtt_us", "us", func(r *flowReading) (float64, bool) {
		return float64(r.info.RTT), told(r, &r.info.RTT) && r.info.RTT > 0
	}},
	// net/ipv4/tcp.c: ~0 before the first.
	{"tcp_min_rtt_us", "us", func(r *flowReading) (float64, bool) {
		return float64(r.info.MinRTT), told(r, &r.info.MinRTT) && r.info.MinRTT != math.MaxUint32
	}},
	// ~0 is without a limit.
	{"tcp_pacing_rate_bytes_ps", "bytes/s", func(r *flowReading) (float64, bool) {
		return float64(r.info.PacingRate), told(r, &r.info.PacingRate) && r.info.PacingRate != math.MaxUint64
	}},
	{"tcp_delivery_rate_bytes_ps", "bytes/s", func(r *flowReading) (float64, bool) {
		return float64(r.info.DeliveryRate), told(r, &r.info.DeliveryRate) && r.info.DeliveryRate > 0
	}},
	{"tcp_rcv_window_bytes", "bytes", func(r *flowReading) (float64, bool) {
		return float64(r.info.RcvWnd),
			told(r, &r.info.RcvWnd)
	}},
	{"tcp_snd_window_bytes", "bytes", func(r *flowReading) (float64, bool) {
		return float64(r.info.SndWnd),
			told(r, &r.info.SndWnd)
	}},
	// include/net/tcp.h: tcp_packets_in_flight, of segments that are taken for full.
	{"tcp_in_flight_bytes", "bytes", func(r *flowReading) (float64, bool) {
		packets := float64(r.info.Unacked) + float64(r.info.Retrans) - float64(r.info.Sacked) - float64(r.info.Lost)
		return max(packets, 0) * float64(r.info.SndMSS), told(r, &r.info.Retrans)
	}},
	{"tcp_retrans_packets", "packets", func(r *flowReading) (float64, bool) {
		return float64(r.info.TotalRetrans), told(r, &r.info.TotalRetrans)
	}},
	{"tcp_app_limited", "1", func(r *flowReading) (float64, bool) { return float64(r.info.Bits & 1), r.n > 7 }},
	// What waits here for the application leaves the cache, where it is more than the cache holds.
	{"tcp_rmem_alloc_bytes", "bytes", func(r *flowReading) (float64, bool) {
		return float64(r.mem.RmemAlloc),
			r.hasMem
	}},
}

// told reports whether the kernel's answer reached as far as a field of TCP_INFO.
func told[T any](r *flowReading, field *T) bool { return end(&r.info, field) <= r.n }

// FlowFigures returns how many series a [FlowSampler] draws of a socket.
func FlowFigures() int { return len(flowFigures) }

// FlowSamplerConfig says what a [FlowSampler] draws.
type FlowSamplerConfig struct {
	Sockets  []int // TCP, of each flow
	Interval time.Duration
	// Expect is how long it will run: memory for that, and half as much again, is taken at
	// the start. What is beyond is not recorded.
	Expect time.Duration
	// Every is of how many calls of Draw one draws, the first of them; 0: each.
	Every int
}

// FlowSampler draws how TCP connections fare, by getsockopt(TCP_INFO) and (SO_MEMINFO) at an
// interval, in its own thread, without allocating while it runs. The two calls take 1 to 3 us.
type FlowSampler struct {
	cfg  FlowSamplerConfig
	quit chan struct{}
	done sync.WaitGroup
	once sync.Once

	// Owned by the thread until done.
	read   flowReading
	at     []int64     // CLOCK_MONOTONIC
	v      [][]float64 // by socket x figure; NaN: there was none
	fromNs int64
	toNs   int64
	costNs int64
	failed int
	over   bool
	calls  int // of Draw
}

// StartFlowSampler begins to sample. Call Stop before a socket is closed: another file may get
// its descriptor.
func StartFlowSampler(cfg FlowSamplerConfig) *FlowSampler {
	s := OpenFlowSampler(cfg)
	s.done.Go(s.run)
	return s
}

// OpenFlowSampler prepares a sampler that draws when it is told to, by [FlowSampler.Draw].
func OpenFlowSampler(cfg FlowSamplerConfig) *FlowSampler {
	s := &FlowSampler{cfg: cfg, quit: make(chan struct{})}
	room := int(cfg.Expect*3/2/cfg.Interval) + 2
	s.at = make([]int64, 0, room)
	s.v = make([][]float64, len(cfg.Sockets)*len(flowFigures))
	for i := range s.v {
		s.v[i] = make([]float64, 0, room)
	}
	return s
}

// Draw draws once, or at each so many calls, on a thread that always is the same; nil: there is
// nobody to ask.
func (s *FlowSampler) Draw() {
	if s == nil {
		return
	}
	if s.calls++; s.cfg.Every > 1 && s.calls%s.cfg.Every != 1 {
		return
	}
	before := ownThreadClock()
	s.sample()
	s.toNs = Monotonic()
	if s.costNs += ownThreadClock() - before; s.fromNs == 0 {
		s.fromNs = s.at[0]
	}
}

func (s *FlowSampler) run() {
	runtime.LockOSThread() // for its clock
	defer runtime.UnlockOSThread()
	tick := time.NewTicker(s.cfg.Interval)
	defer tick.Stop()
	s.fromNs = Monotonic()
	before := ownThreadClock()
	for {
		s.sample()
		select {
		case <-s.quit:
			s.costNs, s.toNs = ownThreadClock()-before, Monotonic()
			return
		case <-tick.C:
		}
	}
}

func (s *FlowSampler) sample() {
	if len(s.at) == cap(s.at) {
		s.over = true
		return
	}
	s.at = append(s.at, Monotonic())
	for i, fd := range s.cfg.Sockets {
		if err := s.read.ask(fd); err != nil {
			s.failed++
		}
		s.take(i, &s.read)
	}
}

// ask reads a socket. Of what could not be read there are no figures.
func (r *flowReading) ask(fd int) (err error) {
	if r.info, r.n, err = getTCPInfo(fd); err != nil {
		r.n = 0
	}
	mem, merr := ReadMemInfo(fd)
	r.mem, r.hasMem = mem, merr == nil
	return err
}

// take keeps the figures of a socket.
func (s *FlowSampler) take(socket int, r *flowReading) {
	for k := range flowFigures {
		v, ok := flowFigures[k].of(r)
		if !ok {
			v = math.NaN()
		}
		at := &s.v[socket*len(flowFigures)+k]
		*at = append(*at, v)
	}
}

// Stop ends the sampler. A second one, or one of nil, does nothing.
func (s *FlowSampler) Stop() {
	if s == nil {
		return
	}
	s.once.Do(func() {
		close(s.quit)
		s.done.Wait()
	})
}

// samples stops the sampler and returns what it drew, with times since startNs, the
// CLOCK_MONOTONIC of the steady window's start. Of several flows each has its own names.
func (s *FlowSampler) Samples(startNs int64) (out samples) {
	s.Stop()
	for i, v := range s.v {
		f := flowFigures[i%len(flowFigures)]
		one := measure.Series{Name: f.name, Unit: f.unit}
		if len(s.cfg.Sockets) > 1 {
			one.Name = measure.FlowMetric(i/len(flowFigures), f.name)
		}
		for k, x := range v {
			if !math.IsNaN(x) {
				one.T, one.V = append(one.T, s.at[k]-startNs), append(one.V, x)
			}
		}
		if len(one.T) > 0 {
			out.Series = append(out.Series, one)
		}
	}
	wall := float64(max(s.toNs-s.fromNs, 1)) / 1e9
	out.Metrics = []measure.Metric{
		{Name: "tcp_sampler_cores", Unit: "cores", Value: float64(s.costNs) / 1e9 / wall,
			Source: "CLOCK_THREAD_CPUTIME_ID"},
		{Name: "tcp_sampler_samples", Unit: "1", Value: float64(len(s.at)), Source: "sampler"},
	}
	if s.over {
		out.Warnings = append(out.Warnings,
			fmt.Sprintf("samples of TCP_INFO end after %d: the run was longer than expected", len(s.at)))
	}
	if s.failed > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d samples of TCP_INFO missing", s.failed))
	}
	return out
}

// FlowSamplerMetrics describe what sampling TCP_INFO took.
var FlowSamplerMetrics = []measure.MetricDoc{
	{Names: "tcp_sampler_cores tcp_sampler_samples",
		Units: "cores 1", Source: "CLOCK_THREAD_CPUTIME_ID; sampler",
		Meaning: "what the probe tcp took, and how often it asked"},
}

// FlowSamplerSeries describe a connection over time.
var FlowSamplerSeries = []measure.MetricDoc{
	{Names: "tcp_cwnd_packets tcp_ssthresh_packets tcp_srtt_us tcp_min_rtt_us " +
		"tcp_pacing_rate_bytes_ps tcp_delivery_rate_bytes_ps tcp_rcv_window_bytes " +
		"tcp_snd_window_bytes tcp_in_flight_bytes tcp_retrans_packets tcp_app_limited tcp_rmem_alloc_bytes",
		Units: "packets packets us us bytes/s bytes/s bytes bytes bytes packets 1 bytes",
		Meaning: "of the probe tcp: the connection's TCP_INFO, and SO_MEMINFO's rmem_alloc " +
			"(docs/probes.md); of several flows each its own, flowN_"},
}
