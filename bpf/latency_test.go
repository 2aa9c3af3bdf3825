// SPDX-License-Identifier: MIT

package bpf_test

import (
	"math"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/veth"
)

// openLatency opens a probe inside the receiver's namespace.
func openLatency(t testing.TB, ns *veth.Netns, f bpf.Filter) *bpf.Latency {
	t.Helper()
	return openSampled(t, ns, f, 1)
}

func openSampled(t testing.TB, ns *veth.Netns, f bpf.Filter, sample int) *bpf.Latency {
	t.Helper()
	l := in(t, ns, func() (*bpf.Latency, error) {
		if f.Netns == 0 {
			inode, err := bpf.NetnsInode()
			if err != nil {
				return nil, err
			}
			f.Netns = inode
		}
		return bpf.OpenLatency(bpf.LatencyOptions{Filter: f, Sample: sample})
	})
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, h := range l.Hooks {
		t.Logf("%-13s %-7s %-28s %s", h.Stage, h.Backend, h.Function, h.Reason)
	}
	return l
}

func read(t *testing.T, l *bpf.Latency) map[string]bpf.Hist {
	t.Helper()
	all, err := l.Read()
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]bpf.Hist{}
	for _, s := range all {
		m[s.Stage] = s.Hist
		if h := s.Hist; h.Count()+h.Unstamped+h.Negative > 0 {
			t.Logf("%-13s n %6d p50 %9.0f p99 %9.0f max %9d ns, negative %d, unstamped %d", s.Stage, h.Count(),
				h.Quantile(.5), h.Quantile(.99), h.Max, h.Negative, h.Unstamped)
		}
	}
	return m
}

// wantCount checks that a stage saw n packets within 1 %.
func wantCount(t *testing.T, m map[string]bpf.Hist, stage string, n int) {
	t.Helper()
	h, ok := m[stage]
	if !ok {
		t.Errorf("%s: no program could be loaded", stage)
		return
	}
	if got := float64(h.Count()); math.Abs(got-float64(n)) > max(1, float64(n)/100) {
		t.Errorf("%s saw %.0f packets, want %d within 1 %% (unstamped %d, negative %d)", stage, got, n, h.Unstamped,
			h.Negative)
	}
	if h.Negative > 0 {
		t.Errorf("%s: %d packets came before they were sent", stage, h.Negative)
	}
}

func TestIntegrationLatencyCounts(t *testing.T) {
	p := newPair(t)
	for family, ip := range families(p) {
		t.Run(family, func(t *testing.T) {
			n := packets(1000, 250)
			l := openLatency(t, p.SUT.Netns, bpf.Filter{LocalPort: testPort})
			sendUDP(t, p, ip, n, 0)
			m := read(t, l)
			wantCount(t, m, "udp-enqueued", n)
			if _, ok := m["udp-receive"]; ok {
				wantCount(t, m, "udp-read", n)
				wantCount(t, m, "udp-receive", n)
				wantCount(t, m, "ip-receive", n)
			}
			if c := m["tcp-do-rcv"]; c.Count() != 0 {
				t.Errorf("datagrams are counted as TCP")
			}
			before, segments := m, segmentsOf(t, p.SUT)
			pingTCP(t, p, ip, n, 0)
			m = read(t, l)
			segments = segmentsOf(t, p.SUT) - segments
			wantCount(t, m, "tcp-enqueued", n)
			wantCount(t, m, "tcp-read", n)
			// Bare acknowledgements come, too: many where a busy machine has answers wait.
			if c := m["tcp-do-rcv"]; c.Count() < uint64(n) || c.Count() > segments {
				t.Errorf("tcp-do-rcv saw %d segments of %d, want %d and the bare acknowledgements", c.Count(), segments,
					n)
			}
			after, was := m["udp-read"], before["udp-read"]
			if after.Count() != was.Count() {
				t.Errorf("segments are counted as datagrams")
			}
			if missed := (bpf.Probes{Latency: l}).Missed(); missed > 0 {
				t.Logf("%d runs were left out by the kernel", missed)
			}
		})
	}
}

// segmentsOf is how many segments of TCP an end's host has received.
func segmentsOf(t *testing.T, e veth.End) (n uint64) {
	t.Helper()
	text := in(t, e.Netns, func() ([]byte, error) { return os.ReadFile("/proc/thread-self/net/snmp") })
	var head []string
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] != "Tcp:" {
			continue
		}
		if head == nil {
			head = f
			continue
		}
		n, err := strconv.ParseUint(f[slices.Index(head, "InSegs")], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	t.Fatal("the kernel does not count segments of TCP")
	return 0
}

// One packet in eight is looked at, the same ones at all stages.
func TestIntegrationLatencySample(t *testing.T) {
	if _, err := bpf.OpenLatency(bpf.LatencyOptions{Sample: 3}); err == nil ||
		!strings.Contains(err.Error(), "power of two") {
		t.Errorf("one packet in 3: %v", err)
	}
	n, sample := packets(2000, 1000), 8
	p := newPair(t)
	before := netRX(t)
	l := openSampled(t, p.SUT.Netns, bpf.Filter{LocalPort: testPort}, sample)
	if !strings.HasSuffix(l.T0, "1 in 8 packets sampled") {
		t.Errorf("t0: %s", l.T0)
	}
	pingTCP(t, p, p.SUT.IPv4, n, 0)
	m := read(t, l)
	runs := netRX(t) - before
	enqueued := m["tcp-enqueued"]
	// Five standard deviations of so many picked at random.
	p1 := 1 / float64(sample)
	if got, slack := float64(enqueued.Count()), 5*math.Sqrt(float64(n)*p1*(1-p1)); math.Abs(got-float64(n)*p1) > slack {
		t.Errorf("%.0f of %d packets were picked, want %d +- %.0f", got, n, n/sample, slack)
	}
	wantCount(t, m, "tcp-read", int(enqueued.Count()))
	if h, ok := m["wake-return"]; ok && (h.Count() > enqueued.Count() || h.Count() < enqueued.Count()*4/5) {
		t.Errorf("wake-return has %d of %d packets that were picked", h.Count(), enqueued.Count())
	}
	// It sees the softirqs of the whole machine, for whomever they ran.
	if h, ok := m["softirq-run"]; ok && h.Count() > max(uint64(n), runs/2) {
		t.Errorf("softirq-run has %d runs of %d, one in %d", h.Count(), runs, sample)
	}
}

// netRX is how often the machine's CPUs have run the softirq that receives packets.
func netRX(t *testing.T) (n uint64) {
	t.Helper()
	s, err := counter.ReadSoftirqs(counter.FS{})
	if err != nil {
		t.Fatal(err)
	}
	for _, runs := range s.NetRX() {
		n += runs
	}
	return n
}

// A reader that comes late shows in the stage of the read, and only there.
func TestIntegrationLatencyOfLateReader(t *testing.T) {
	kind.Timed(t)
	p := newPair(t)
	const delay = 20 * time.Millisecond
	for proto, run := range map[string]func(*testing.T, *veth.Pair, net.IP, int, time.Duration){"udp": sendUDP,
		"tcp": pingTCP} {
		t.Run(proto, func(t *testing.T) {
			l := openLatency(t, p.SUT.Netns, bpf.Filter{LocalPort: testPort})
			run(t, p, p.SUT.IPv4, packets(40, 24), delay)
			m := read(t, l)
			for stage, h := range m {
				if h.Count() < 20 || !sinceStamp(stage) {
					continue
				}
				late := stage == proto+"-read" || stage == proto+"-return"
				p50 := time.Duration(h.Quantile(0.5))
				if late && (p50 < delay/2 || p50 > 3*delay) {
					t.Errorf("%s: the median is %v, want about %v", stage, p50, delay)
				}
				if !late && p50 > delay/4 {
					t.Errorf("%s: the median is %v: the reader's delay of %v is not its own", stage, p50, delay)
				}
			}
			h, ok := m[proto+"-read"]
			if ok && h.Count() < 20 {
				t.Errorf("%d reads seen, want 40", h.Count())
			}
		})
	}
}
