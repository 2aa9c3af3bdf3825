// SPDX-License-Identifier: MIT

package counter

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/zcbench/zcbench/results"
)

// flowFigures are what a [FlowSampler] draws of TCP_INFO, by their names in samples.csv. of is
// false where the kernel has none, or none yet; n is how many bytes it answered.
var flowFigures = []struct {
	name, unit string
	of         func(t *tcpInfo, n uintptr) (float64, bool)
}{
	{"tcp_cwnd_packets", "packets", func(t *tcpInfo, n uintptr) (float64, bool) { return float64(t.SndCwnd), end(t, &t.SndCwnd) <= n }},
	// include/net/tcp.h: TCP_INFINITE_SSTHRESH, until a loss has set one.
	{"tcp_ssthresh_packets", "packets", func(t *tcpInfo, n uintptr) (float64, bool) {
		return float64(t.SndSsthresh), end(t, &t.SndSsthresh) <= n && t.SndSsthresh < math.MaxInt32
	}},
	{"tcp_srtt_us", "us", func(t *tcpInfo, n uintptr) (float64, bool) { return float64(t.RTT), end(t, &t.RTT) <= n && t.RTT > 0 }},
	// net/ipv4/tcp.c: ~0 before the first.
	{"tcp_min_rtt_us", "us", func(t *tcpInfo, n uintptr) (float64, bool) {
		return float64(t.MinRTT), end(t, &t.MinRTT) <= n && t.MinRTT != math.MaxUint32
	}},
	// ~0 is without a limit.
	{"tcp_pacing_rate_bytes_ps", "bytes/s", func(t *tcpInfo, n uintptr) (float64, bool) {
		return float64(t.PacingRate), end(t, &t.PacingRate) <= n && t.PacingRate != math.MaxUint64
	}},
	{"tcp_delivery_rate_bytes_ps", "bytes/s", func(t *tcpInfo, n uintptr) (float64, bool) {
		return float64(t.DeliveryRate), end(t, &t.DeliveryRate) <= n && t.DeliveryRate > 0
	}},
	{"tcp_rcv_window_bytes", "bytes", func(t *tcpInfo, n uintptr) (float64, bool) { return float64(t.RcvWnd), end(t, &t.RcvWnd) <= n }},
	{"tcp_snd_window_bytes", "bytes", func(t *tcpInfo, n uintptr) (float64, bool) { return float64(t.SndWnd), end(t, &t.SndWnd) <= n }},
	// include/net/tcp.h: tcp_packets_in_flight, of segments that are taken for full.
	{"tcp_in_flight_bytes", "bytes", func(t *tcpInfo, n uintptr) (float64, bool) {
		packets := float64(t.Unacked) + float64(t.Retrans) - float64(t.Sacked) - float64(t.Lost)
		return max(packets, 0) * float64(t.SndMSS), end(t, &t.Retrans) <= n
	}},
	{"tcp_retrans_packets", "packets", func(t *tcpInfo, n uintptr) (float64, bool) {
		return float64(t.TotalRetrans), end(t, &t.TotalRetrans) <= n
	}},
	{"tcp_app_limited", "1", func(t *tcpInfo, n uintptr) (float64, bool) { return float64(t.Bits & 1), n > 7 }},
}

// FlowFigures is how many series a [FlowSampler] draws of a socket.
func FlowFigures() int { return len(flowFigures) }

// FlowSamplerConfig says what a [FlowSampler] draws.
type FlowSamplerConfig struct {
	Sockets  []int // TCP, of each flow
	Interval time.Duration
	// Expect is how long it will run: memory for that, and half as much again, is taken at
	// the start. What is beyond is not recorded.
	Expect time.Duration
}

// FlowSampler draws how TCP connections fare, by getsockopt(TCP_INFO) at an interval, in its
// own thread, without allocating while it runs. A call takes 1 to 2 us.
type FlowSampler struct {
	cfg  FlowSamplerConfig
	quit chan struct{}
	done sync.WaitGroup
	once sync.Once

	// Owned by the thread until done.
	at     []int64     // CLOCK_MONOTONIC
	v      [][]float64 // by socket x figure; NaN: there was none
	fromNs int64
	toNs   int64
	costNs int64
	failed int
	over   bool
}

// StartFlowSampler begins to sample. Call Stop before a socket is closed: another file may get
// its descriptor.
func StartFlowSampler(cfg FlowSamplerConfig) *FlowSampler {
	s := &FlowSampler{cfg: cfg, quit: make(chan struct{})}
	room := int(cfg.Expect*3/2/cfg.Interval) + 2
	s.at = make([]int64, 0, room)
	s.v = make([][]float64, len(cfg.Sockets)*len(flowFigures))
	for i := range s.v {
		s.v[i] = make([]float64, 0, room)
	}
	s.done.Go(s.run)
	return s
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
		t, n, err := getTCPInfo(fd)
		if err != nil {
			s.failed, n = s.failed+1, 0
		}
		s.take(i, &t, n)
	}
}

// take keeps the figures of a socket.
func (s *FlowSampler) take(socket int, t *tcpInfo, n uintptr) {
	for k := range flowFigures {
		v, ok := flowFigures[k].of(t, n)
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

// Samples stops the sampler and returns what it drew, with times since startNs, the
// CLOCK_MONOTONIC of the steady window's start. Of several flows each has its own names.
func (s *FlowSampler) Samples(startNs int64) (out Samples) {
	s.Stop()
	for i, v := range s.v {
		f := flowFigures[i%len(flowFigures)]
		one := results.Series{Name: f.name, Unit: f.unit}
		if len(s.cfg.Sockets) > 1 {
			one.Name = results.FlowMetric(i/len(flowFigures), f.name)
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
	out.Metrics = []results.Metric{
		{Name: "tcp_sampler_cores", Unit: "cores", Value: float64(s.costNs) / 1e9 / wall, Source: "CLOCK_THREAD_CPUTIME_ID"},
		{Name: "tcp_sampler_samples", Unit: "1", Value: float64(len(s.at)), Source: "sampler"},
	}
	if s.over {
		out.Warnings = append(out.Warnings, fmt.Sprintf("samples of TCP_INFO end after %d: the run was longer than expected", len(s.at)))
	}
	if s.failed > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d samples of TCP_INFO missing", s.failed))
	}
	return out
}
