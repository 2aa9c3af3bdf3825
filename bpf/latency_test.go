// SPDX-License-Identifier: MIT

package bpf_test

import (
	"errors"
	"io"
	"math"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

const testPort = 7788

// patience is for a machine that has much else to do.
const patience = 2 * time.Minute

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
			t.Logf("%-13s n %6d p50 %9.0f p99 %9.0f max %9d ns, negative %d, unstamped %d", s.Stage, h.Count(), h.Quantile(.5), h.Quantile(.99), h.Max, h.Negative, h.Unstamped)
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
		t.Errorf("%s saw %.0f packets, want %d within 1 %% (unstamped %d, negative %d)", stage, got, n, h.Unstamped, h.Negative)
	}
	if h.Negative > 0 {
		t.Errorf("%s: %d packets came before they were sent", stage, h.Negative)
	}
}

// sendUDP sends n datagrams; the receiver sleeps before it reads each.
func sendUDP(t *testing.T, p *veth.Pair, ip net.IP, n int, sleep time.Duration) {
	t.Helper()
	rx := in(t, p.SUT.Netns, func() (net.PacketConn, error) { return net.ListenPacket("udp", addr(ip, testPort)) })
	defer rx.Close()
	tx := in(t, p.TG.Netns, func() (net.Conn, error) { return net.Dial("udp", addr(ip, testPort)) })
	defer tx.Close()
	b := make([]byte, 2000)
	rx.SetReadDeadline(time.Now().Add(patience))
	for range n {
		if _, err := tx.Write(b[:100]); err != nil {
			t.Fatal(err)
		}
		time.Sleep(sleep)
		if _, _, err := rx.ReadFrom(b); err != nil {
			t.Fatal(err)
		}
	}
}

// pingTCP sends n requests; each is answered after sleep.
func pingTCP(t *testing.T, p *veth.Pair, ip net.IP, n int, sleep time.Duration) {
	t.Helper()
	chat(t, p, ip, n, sleep, nil)
}

func chat(t *testing.T, p *veth.Pair, ip net.IP, n int, sleep time.Duration, stop func() bool) {
	t.Helper()
	ln := in(t, p.SUT.Netns, func() (net.Listener, error) { return net.Listen("tcp", addr(ip, testPort)) })
	defer ln.Close()
	go func() {
		var tx net.Conn
		if err := p.TG.Netns.Do(func() (err error) { tx, err = net.Dial("tcp", addr(ip, testPort)); return err }); err != nil {
			ln.Close()
			return
		}
		defer tx.Close()
		b := make([]byte, 64)
		for range n {
			if _, err := tx.Write(b); err != nil {
				return
			}
			if _, err := io.ReadFull(tx, b); err != nil {
				return
			}
		}
	}()
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	b := make([]byte, 64)
	for range n {
		if stop != nil && stop() {
			return
		}
		time.Sleep(sleep)
		if _, err := io.ReadFull(c, b); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
	}
}

func families(p *veth.Pair) map[string]net.IP {
	m := map[string]net.IP{"ipv4": p.SUT.IPv4}
	if p.SUT.IPv6 != nil {
		m["ipv6"] = p.SUT.IPv6
	}
	return m
}

// packets is how many a test sends: few in the lab, which is emulated, unless there
// is time.
func packets(n, few int) int {
	if inLab() && !long.Wanted() {
		return few
	}
	return n
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
			before := m
			pingTCP(t, p, ip, n, 0)
			m = read(t, l)
			wantCount(t, m, "tcp-enqueued", n)
			wantCount(t, m, "tcp-read", n)
			if c := m["tcp-do-rcv"]; c.Count() < uint64(n) || c.Count() > uint64(n+n/20+20) {
				t.Errorf("tcp-do-rcv saw %d segments, want %d and a few bare acknowledgements", c.Count(), n)
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

// One packet in eight is looked at, the same ones at all stages.
func TestIntegrationLatencySample(t *testing.T) {
	if _, err := bpf.OpenLatency(bpf.LatencyOptions{Sample: 3}); err == nil || !strings.Contains(err.Error(), "power of two") {
		t.Errorf("one packet in 3: %v", err)
	}
	n, sample := packets(2000, 1000), 8
	p := newPair(t)
	l := openSampled(t, p.SUT.Netns, bpf.Filter{LocalPort: testPort}, sample)
	if !strings.HasSuffix(l.T0, "of one packet in 8") {
		t.Errorf("t0: %s", l.T0)
	}
	pingTCP(t, p, p.SUT.IPv4, n, 0)
	m := read(t, l)
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
	if h, ok := m["softirq-run"]; ok && h.Count() > uint64(n) {
		t.Errorf("softirq-run has %d runs, of %d packets one in %d", h.Count(), n, sample)
	}
}

// A reader that comes late shows in the stage of the read, and only there.
func TestIntegrationLatencyOfLateReader(t *testing.T) {
	p := newPair(t)
	const delay = 20 * time.Millisecond
	for proto, run := range map[string]func(*testing.T, *veth.Pair, net.IP, int, time.Duration){"udp": sendUDP, "tcp": pingTCP} {
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

// filterCase is a filter, and whether flows to the SUT pass it.
type filterCase struct {
	name   string
	filter bpf.Filter
	passes bool
	family string // empty: all
}

func filterCases(t *testing.T, p *veth.Pair) []filterCase {
	netns := in(t, newNetns(t), bpf.NetnsInode)
	dev := in(t, p.SUT.Netns, func() (*net.Interface, error) { return net.InterfaceByName(p.SUT.Dev) })
	cases := []filterCase{
		{"interface", bpf.Filter{Ifindex: dev.Index}, true, ""},
		{"other interface", bpf.Filter{Ifindex: 1}, false, ""},
		{"other port", bpf.Filter{Port: testPort + 1}, false, ""},
	}
	if inLab() && !long.Wanted() {
		// What differs there are the programs, which all filters have in common: each
		// filter of an address meets the other family's as those of another flow.
		at := func(ip net.IP) bpf.Filter { a, _ := netip.AddrFromSlice(ip); return bpf.Filter{Addr: a.Unmap()} }
		return append(cases[:0], cases[0], cases[2],
			filterCase{"peer address", at(p.TG.IPv4), true, "ipv4"}, filterCase{"peer address", at(p.TG.IPv6), true, "ipv6"})
	}
	for family, end := range map[string][3]net.IP{"ipv4": {p.SUT.IPv4, p.TG.IPv4, net.ParseIP("192.0.2.1")}, "ipv6": {p.SUT.IPv6, p.TG.IPv6, net.ParseIP("2001:db8::1")}} {
		at := func(i int) bpf.Filter { a, _ := netip.AddrFromSlice(end[i]); return bpf.Filter{Addr: a.Unmap()} }
		cases = append(cases, filterCase{"peer address", at(1), true, family}, filterCase{"other address", at(2), false, family})
		if !inLab() {
			cases = append(cases, filterCase{"address", at(0), true, family})
		}
	}
	if inLab() { // what differs there are the programs, which have these in common
		return cases
	}
	return append(cases,
		filterCase{"local port", bpf.Filter{LocalPort: testPort}, true, ""},
		filterCase{"port", bpf.Filter{Port: testPort}, true, ""},
		filterCase{"other local port", bpf.Filter{LocalPort: testPort + 1}, false, ""},
		filterCase{"other remote port", bpf.Filter{RemotePort: testPort}, false, ""},
		filterCase{"other namespace", bpf.Filter{Netns: netns}, false, ""},
		filterCase{"other process", bpf.Filter{TGID: 1}, false, ""},
		filterCase{"other cgroup", bpf.Filter{Cgroup: emptyCgroup(t)}, false, ""})
}

// A filter leaves out the traffic of others, at every stage, and keeps its own. Of
// a datagram's socket, which is not connected, only the packet knows the other end.
func TestIntegrationLatencyFilters(t *testing.T) {
	p := newPair(t)
	for _, c := range filterCases(t, p) {
		t.Run(strings.TrimSpace(c.name+" "+c.family), func(t *testing.T) {
			l := openLatency(t, p.SUT.Netns, c.filter)
			all := families(p)
			if c.passes && c.family != "" {
				// An address: none of the other family's is it. They come first: the last
				// packets of a flow that passes may come when it is over.
				for family, ip := range all {
					if family != c.family {
						checkFilter(t, p, l, ip, false)
					}
				}
			}
			for family, ip := range all {
				if c.family == "" || c.family == family {
					checkFilter(t, p, l, ip, c.passes)
				}
			}
		})
	}
}

func checkFilter(t *testing.T, p *veth.Pair, l *bpf.Latency, ip net.IP, passes bool) {
	const n = 20
	before := read(t, l)
	sendUDP(t, p, ip, n, 0)
	between := read(t, l)
	pingTCP(t, p, ip, n, 0)
	for stage, h := range read(t, l) {
		was, mid := before[stage], between[stage]
		udp, tcp, both := mid.Sub(&was), h.Sub(&mid), h.Sub(&was)
		want := uint64(n)
		if stage == "wake-return" {
			// Who happens to read between a datagram's queueing and sk_data_ready is not
			// woken for it: a busy machine stops the sender there now and then.
			want -= n / 10
		}
		switch {
		case stage == "softirq-run", strings.HasPrefix(stage, "devmem-"), strings.HasPrefix(stage, "zcrx-"):
		case !passes && both.Count()+both.Unstamped+both.Negative > 0:
			t.Errorf("%s counted %d packets of another flow", stage, both.Count()+both.Unstamped+both.Negative)
		case passes && !strings.HasPrefix(stage, "tcp-") && udp.Count() < want:
			t.Errorf("%s saw %d of %d datagrams to %s", stage, udp.Count(), n, ip)
		case passes && !strings.HasPrefix(stage, "udp-") && tcp.Count() < want:
			t.Errorf("%s saw %d of %d requests to %s", stage, tcp.Count(), n, ip)
		}
	}
}

func newNetns(t *testing.T) *veth.Netns {
	t.Helper()
	ns, err := veth.NewNetns()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	return ns
}

// cgroupRoot is where the cgroup2 file system is.
func cgroupRoot(t *testing.T) string {
	for _, dir := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err == nil && st.Type == unix.CGROUP2_SUPER_MAGIC {
			return dir
		}
	}
	t.Skip("no cgroup2 file system is mounted")
	return ""
}

func emptyCgroup(t *testing.T) string {
	dir, err := os.MkdirTemp(cgroupRoot(t), "zcbench-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// A filter by process or cgroup keeps what the process reads: cgroups below the
// one asked for count.
func TestIntegrationLatencyOfProcess(t *testing.T) {
	p := newPair(t)
	for name, f := range map[string]bpf.Filter{"process": {TGID: os.Getpid()}, "cgroup": {Cgroup: cgroupRoot(t)}} {
		t.Run(name, func(t *testing.T) {
			l := openLatency(t, p.SUT.Netns, f)
			pingTCP(t, p, p.SUT.IPv4, 50, 0)
			m := read(t, l)
			wantCount(t, m, "tcp-read", 50)
			if _, ok := m["tcp-do-rcv"]; ok {
				t.Error("a stage of the softirq is there")
			}
		})
	}
	if _, err := bpf.OpenLatency(bpf.LatencyOptions{Filter: bpf.Filter{Cgroup: t.TempDir()}}); !errors.Is(err, bpf.ErrNoCgroup) {
		t.Errorf("a folder that is no cgroup: %v", err)
	}
}

// bulk sends as fast as the SUT takes it, until stop, or until patience ends.
func bulk(t testing.TB, p *veth.Pair) (stop func()) {
	t.Helper()
	rx, tx := connect(t, p)
	var done sync.WaitGroup
	done.Go(func() {
		for b := make([]byte, 64<<10); ; {
			if _, err := tx.Write(b); err != nil {
				return
			}
		}
	})
	done.Go(func() {
		for b := make([]byte, 64<<10); ; {
			if _, err := rx.Read(b); err != nil {
				return
			}
		}
	})
	return func() {
		tx.Close()
		rx.Close()
		done.Wait()
	}
}

// Every program of the probe is timed beside a flow in bulk, what stamps too, with an empty
// one and the common design. How they compare is BenchmarkCost's: it is a matter of the
// machine's caches and of who else uses them.
func TestIntegrationCost(t *testing.T) {
	hostOnly(t)
	if len(compareCost(t, newPair(t))) == 0 {
		t.Error("no program was compared with the common design")
	}
}

// BenchmarkCost is what a run of our programs takes, beside the common design's: a
// hash map that is asked at each stage.
func BenchmarkCost(b *testing.B) {
	hostOnly(b)
	p := newPair(b)
	var mine, reference float64
	for b.Loop() {
		for _, ns := range compareCost(b, p) {
			mine, reference = mine+ns[0], reference+ns[1]
		}
	}
	b.ReportMetric(mine/reference, "of-hash-design")
}

// compareCost is what a run of each program costs that both designs have, ns.
func compareCost(t testing.TB, p *veth.Pair) map[string][2]float64 {
	stop := bulk(t, p)
	defer stop()
	path := in(t, p.SUT.Netns, func() (*bpf.Path, error) { return bpf.OpenPath(0, 0) })
	defer path.Close()
	calls, err := bpf.OpenSyscalls(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer calls.Close()
	l := openLatency(t, p.SUT.Netns, bpf.Filter{})
	probes := bpf.Probes{Latency: l, Path: path, Syscalls: calls}
	costs := in(t, p.SUT.Netns, func() ([]bpf.Cost, error) { return probes.MeasureCost(t.Context(), 1200*time.Millisecond) })
	both := map[string][2]float64{}
	timed := map[string]bool{}
	for _, c := range costs {
		t.Logf("%-13s %-24s runs %7d, %5.0f ns, floor %5.0f, reference %5.0f, %8.0f Hz, %.3f cores", c.Hook.Stage, c.Hook.Function, c.Runs, c.Ns, c.FloorNs, c.Reference, c.Hz, c.Core)
		timed[c.Hook.Function] = c.Runs > 0
		if c.Runs > 1000 && (c.FloorNs == 0 || c.Hz == 0) {
			t.Errorf("%s: no floor", c.Hook.Function)
		}
		if c.Reference > 0 && c.Runs > 100 {
			both[c.Hook.Function] = [2]float64{c.Ns, c.Reference}
		}
	}
	for _, f := range []string{"ingress of lo, " + p.SUT.Dev, "tcp_probe", "softirq_raise", "napi_poll", "sys_enter", "sys_exit"} {
		if !timed[f] {
			t.Errorf("no run of the program at %s was timed", f)
		}
	}
	return both
}
