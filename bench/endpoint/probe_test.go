// SPDX-License-Identifier: MIT

package endpoint

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// A stage that saw nothing is not measured: it has no figures, and no zeros.
func TestStageFigures(t *testing.T) {
	var h bpf.Hist
	if s, ok := stageFigures("tcp-read", "fentry/f", &h); ok {
		t.Errorf("an empty stage has figures: %+v", s)
	}
	h.Unstamped = 3
	s, ok := stageFigures("tcp-read", "fentry/f", &h)
	if !ok || s.Name != "tcp_read" || s.Hook != "fentry/f" || *s.Unstamped != 3 || *s.Count != 0 || s.P50 != nil ||
		s.Max != nil {
		t.Errorf("of unstamped packets: %+v", s)
	}
	h.Bucket[100], h.Sum, h.Max = 10, 10*bpf.Edge(100), bpf.Edge(100)
	if s, _ = stageFigures("tcp-read", "", &h); *s.P99 != float64(bpf.Edge(100)) || *s.Count != 10 {
		t.Errorf("p99: %+v", s)
	}
}

// A missing program is told though another of its stage is there, unless one took
// its place.
func TestAbsentProbes(t *testing.T) {
	p := &probes{Probes: bpf.Probes{Latency: &bpf.Latency{Hooks: []bpf.Hook{
		{Stage: "tcp-read", Backend: "fentry", Function: "skb_copy_datagram_iter", Reason: "refused", Replaced: true},
		{Stage: "tcp-read", Backend: "tp_btf", Function: "skb_copy_datagram_iovec"},
		{Stage: "udp-read", Backend: "fentry", Function: "skb_consume_udp", Reason: "refused"},
		{Stage: "wake-return", Backend: "tp_btf", Function: "sk_data_ready"},
		{Stage: "wake-return", Backend: "fexit", Function: "io_zcrx_recv", Reason: "refused"},
	}}}}
	want := []string{"missing probes: refused: wake-return (io_zcrx_recv)"}
	if got := p.absent(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// probed is a flow with probes.
func probed(t *testing.T, probes []string) wire.EndResult {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	rx, tx := rxSpec("tcp", 64*kib), txSpec("tcp", 64*kib)
	rx.Cell.Probe = strings.Join(probes, "+")
	tx.Cell.PaceBitsPS = 1e9 // the receiver sleeps, and is woken
	res, _ := flowUntil(t, rx, tx, moved(64*mib))
	return res
}

// A flow with probes has their metrics, and says where they sit.
func TestIntegrationProbedFlow(t *testing.T) {
	res := probed(t, plan.ProbeNames)
	if res.Verdict != results.OK {
		t.Errorf("%s: %s", res.Verdict, res.Reason)
	}
	seen := map[string]measure.Metric{}
	for _, m := range res.Host.Rows() {
		seen[m.Name] = m
	}
	for _, name := range []string{"latency_tcp_read_p50", "latency_tcp_enqueued_count", "latency_wake_return_p99",
		"syscall_recvfrom_calls", "syscall_recvfrom_min",
		"syscall_recvfrom_max", "syscall_recvfrom_stddev", "syscall_recvfrom_per_mb", "probe_napi_polls"} {
		if seen[name].Value <= 0 || !strings.HasPrefix(seen[name].Source, "eBPF") {
			t.Errorf("%s: %+v", name, seen[name])
		}
	}
	if m, ok := seen["drop_packets"]; !ok || m.Unit != "packets" {
		t.Errorf("what was dropped: %+v", m)
	}
	drawn := map[string]int{}
	for _, s := range res.Host.Series {
		drawn[s.Name] = len(s.T)
	}
	if p := res.Host.Probes; drawn["tcp_rcv_window_bytes"] == 0 || drawn["tcp_cwnd_packets"] == 0 || p == nil ||
		len(p.Flow) < 5 || p.FlowCores == nil {
		t.Errorf("the connection over time: %v, %+v", drawn, p)
	}
	if n := seen["latency_sample_packets"].Value; n != plan.DefaultProbeSample {
		t.Errorf("one packet in %v", n)
	}
	if s := seen["latency_tcp_read_p50"].Source; !strings.Contains(s, "skb_copy_datagram_") ||
		!strings.Contains(s, "; t0: tcx ingress of ") {
		t.Errorf("source %q", s)
	}
}

// The connection is looked at every 10 ms.
func TestIntegrationFlowIsSampled(t *testing.T) {
	kind.Timed(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	rx, tx := rxSpec("tcp", 64*kib), txSpec("tcp", 64*kib)
	rx.Cell.Probe = "tcp"
	sch := lasting(600 * time.Millisecond)
	res, _ := runBoth(t, rx, tx, sch, sch)
	samples := 0.
	for _, m := range res.Host.Rows() {
		if m.Name == "tcp_sampler_samples" {
			samples = m.Value
		}
	}
	if samples < 30 {
		t.Errorf("TCP_INFO was asked for %g times in 600 ms; %s: %s", samples, res.Verdict, res.Reason)
	}
	for _, s := range res.Host.Series {
		if n := len(s.T); (s.Name == "tcp_rcv_window_bytes" || s.Name == "tcp_cwnd_packets") && n < 30 {
			t.Errorf("%s has %d points", s.Name, n)
		}
	}
}

// While the kernel times eBPF programs a flow's throughput is worth nothing. That is of the whole
// machine, also for flows of other tests: so this one runs alone, with those that are timed.
func TestIntegrationProgramsAreTimed(t *testing.T) {
	kind.Timed(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	stats, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
	if err != nil {
		t.Fatal(err)
	}
	defer stats.Close()
	// Somebody else's program is enough; here it is a probe of ours.
	other, err := bpf.OpenSyscalls(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if res := probed(t, nil); res.Verdict != results.Invalid || !strings.Contains(res.Reason, "bpf_stats") ||
		res.Fix == "" || !slices.Contains(res.Flags, results.FlagDisturbed) {
		t.Errorf("with bpf_stats on: %s: %s, flags %v", res.Verdict, res.Reason, res.Flags)
	}
}
