// SPDX-License-Identifier: MIT

package counter

import (
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/measure"
)

// What the kernel does not know yet is a gap, and no figure.
func TestFlowFigures(t *testing.T) {
	figures := func(info tcpInfo, n uintptr, mem ...MemInfo) map[string]float64 {
		s := &FlowSampler{cfg: FlowSamplerConfig{Sockets: []int{-1}}, v: make([][]float64, len(flowFigures)),
			at: []int64{0}, quit: make(chan struct{})}
		r := flowReading{info: info, n: n, hasMem: len(mem) > 0}
		if r.hasMem {
			r.mem = mem[0]
		}
		s.take(0, &r)
		got := map[string]float64{}
		for _, one := range s.Samples(0).Series {
			got[one.Name] = one.V[0]
		}
		return got
	}
	all := unsafe.Sizeof(tcpInfo{})
	fresh := figures(tcpInfo{SndCwnd: 10, SndSsthresh: math.MaxInt32, MinRTT: math.MaxUint32,
		PacingRate: math.MaxUint64}, all)
	for _, name := range []string{"tcp_ssthresh_packets", "tcp_srtt_us", "tcp_min_rtt_us", "tcp_pacing_rate_bytes_ps",
		"tcp_delivery_rate_bytes_ps"} {
		if v, ok := fresh[name]; ok {
			t.Errorf("%s of a new connection is %g", name, v)
		}
	}
	if v, ok := fresh["tcp_retrans_packets"]; !ok || v != 0 || fresh["tcp_cwnd_packets"] != 10 {
		t.Errorf("%v", fresh)
	}
	busy := figures(tcpInfo{Bits: 1, SndSsthresh: 7, RTT: 90, MinRTT: 80, PacingRate: 1e9, DeliveryRate: 2e9,
		RcvWnd: 65536, SndWnd: 4096,
		Unacked: 20, Retrans: 2, Sacked: 5, Lost: 1, SndMSS: 1000, TotalRetrans: 3}, all, MemInfo{RmemAlloc: 5000})
	for name, want := range map[string]float64{"tcp_ssthresh_packets": 7, "tcp_srtt_us": 90, "tcp_min_rtt_us": 80,
		"tcp_pacing_rate_bytes_ps":   1e9,
		"tcp_delivery_rate_bytes_ps": 2e9, "tcp_rcv_window_bytes": 65536, "tcp_snd_window_bytes": 4096,
		"tcp_in_flight_bytes": 16_000, "tcp_retrans_packets": 3, "tcp_app_limited": 1, "tcp_rmem_alloc_bytes": 5000} {
		if busy[name] != want {
			t.Errorf("%s is %g, want %g", name, busy[name], want)
		}
	}
	// A kernel from before some fields, and a call that failed.
	if old := figures(tcpInfo{RcvWnd: 65536, RTT: 9}, unsafe.Offsetof(tcpInfo{}.SndWnd)); old["tcp_srtt_us"] != 9 ||
		len(old) == 0 {
		t.Errorf("%v", old)
	} else if _, ok := old["tcp_rcv_window_bytes"]; ok {
		t.Errorf("the kernel did not answer so far: %v", old)
	}
	if none := figures(tcpInfo{RTT: 9}, 0); len(none) > 0 { // SO_MEMINFO failed, too
		t.Errorf("%v", none)
	}
}

// Both ends of a connection over loopback, and names and units that are described.
func TestFlowSampler(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	a, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var fds []int
	for _, c := range []net.Conn{a, b} {
		raw, err := c.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		if err := raw.Control(func(fd uintptr) { fds = append(fds, int(fd)) }); err != nil {
			t.Fatal(err)
		}
	}
	buf := make([]byte, 1000)
	if _, err := a.Write(buf); err != nil { // one stays unread
		t.Fatal(err)
	}
	await.Until(t, "bytes are there to be read", func() bool {
		waiting, err := unix.IoctlGetInt(fds[1], unix.SIOCINQ)
		if err != nil {
			t.Fatal(err)
		}
		return waiting == len(buf)
	})
	s := StartFlowSampler(FlowSamplerConfig{Sockets: fds, Interval: time.Millisecond, Expect: await.Hang})
	for range 20 {
		if _, err := a.Write(buf); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Read(buf); err != nil {
			t.Fatal(err)
		}
	}
	s.Stop()
	from := s.at[0]
	got := s.Samples(from)
	if len(got.Warnings) > 0 || len(got.Metrics) != 2 || got.Metrics[1].Value < 1 {
		t.Errorf("%+v", got)
	}
	seen := map[string]bool{}
	for _, one := range got.Series {
		seen[one.Name] = true
		if one.Name == "flow1_tcp_rmem_alloc_bytes" && slices.Max(one.V) < 1000 {
			t.Errorf("%s: what waits unread is not in %v", one.Name, one.V)
		}
		if len(one.T) != len(one.V) || one.T[0] < 0 {
			t.Errorf("%s: %d times, %d values, from %d", one.Name, len(one.T), len(one.V), one.T[0])
		}
		if d, unit := measure.NewIndex(FlowSamplerMetrics, FlowSamplerSeries).Describe(one.Name); d == nil ||
			unit != one.Unit ||
			!strings.Contains(d.Names, "tcp_cwnd_packets") {
			t.Errorf("%s in %s is not described: %+v", one.Name, one.Unit, d)
		}
	}
	for _, m := range got.Metrics {
		if err := measure.NewIndex(FlowSamplerMetrics, FlowSamplerSeries).CheckRow(m.Name, m.Unit,
			m.Source); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"flow0_tcp_cwnd_packets", "flow1_tcp_rcv_window_bytes", "flow0_tcp_srtt_us",
		"flow1_tcp_app_limited", "flow1_tcp_rmem_alloc_bytes"} {
		if !seen[name] {
			t.Errorf("there is no %s: %v", name, seen)
		}
	}
	(*FlowSampler)(nil).Stop()
}
