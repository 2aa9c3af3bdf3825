// SPDX-License-Identifier: MIT

package counter

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/rtnl"
)

func TestSnake(t *testing.T) {
	for in, want := range map[string]string{
		"TcpRetransSegs": "tcp_retrans_segs", "TcpExtTCPRcvCoalesce": "tcp_ext_tcp_rcv_coalesce",
		"IpExtInECT0Pkts": "ip_ext_in_ect0_pkts", "Ip6InReceives": "ip6_in_receives",
		"TcpExtTcpTimeoutRehash": "tcp_ext_tcp_timeout_rehash", "data_path": "data_path", "a-b": "a_b", "": "",
	} {
		if got := snake(in); got != want {
			t.Errorf("snake(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestTakeDelta runs the whole walk on this host around one loopback flow.
func TestTakeDelta(t *testing.T) {
	c, a := exchange(t, 1<<20)
	cfg := Config{Dev: "lo", Sockets: []int{socketFD(t, a)}, Threads: map[string]int{"main": mainTID()}}
	before, err := Take(cfg)
	if err != nil {
		t.Fatal(err)
	}
	const n = 8 << 20
	for range 4 {
		send(t, c, a, n/4)
		await.Pause("the window has a length", 20*time.Millisecond)
	}
	cfg.End = true
	after, err := Take(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ms, ch := Delta(before, after)
	names := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	seen := map[string]bool{}
	for _, m := range ms {
		name := m.Named()
		if !names.MatchString(name) || m.Unit == "" || m.Source == "" || seen[name] {
			t.Errorf("metric %+v: bad name, no unit, no source, or twice", m)
		}
		seen[name] = true
	}
	if v := metric(t, ms, "tcp_info_bytes_received"); v.Value != n || v.Source != "TCP_INFO" {
		t.Errorf("%+v, want %d bytes", v, n)
	}
	if v := metric(t, ms, "link_rx_bytes"); v.Value < n {
		t.Errorf("%+v, want at least %d", v, n)
	}
	for _, name := range []string{"cpu_busy_cores", "cpu_window_s", "process_run_cores", "thread_main_run_cores",
		"netstat_tcp_in_segs", "counter_snapshot_cpu_ns", "link_mtu"} {
		metric(t, ms, name)
	}
	cost := metric(t, ms, "counter_snapshot_cpu_ns").Value
	t.Logf("both snapshots cost %.2f ms of CPU time", cost/1e6)
	if cost <= 0 {
		t.Error("taking a snapshot cost nothing")
	}
	h := ch.Figures()
	if h.CPUBusyCores == nil || h.Retrans == nil || h.RXDrops == nil || h.StatCoverage == nil ||
		h.Congestion == "" || h.CPUsMeasured == "" || h.IRQCPU == "" {
		t.Errorf("host not filled: %+v", h)
	}
}

func mainTID() int {
	ts, err := readThreads(FS{}, 0)
	if err != nil || len(ts) == 0 {
		return 0
	}
	return ts[0].TID
}

// What a host does not have is missing with a warning, and never a row of 0.
func TestDeltaMissingParts(t *testing.T) {
	bare, err := NewFS("testdata/bare", "testdata")
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{FS: bare, Dev: "nosuchdev0", Sockets: []int{1 << 20}, CPUs: []int{0}}
	before, err := Take(cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.End = true
	after, err := Take(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ms, ch := Delta(before, after)
	for _, m := range ms {
		for _, area := range []string{"link_", "tcp_info_", "netstat_", "softnet_", "softirq_"} {
			if strings.HasPrefix(m.Name, area) {
				t.Errorf("%+v was not measured", m)
			}
		}
	}
	all := strings.Join(ch.Warnings, "\n")
	for _, want := range []string{"interface nosuchdev0", "TCP_INFO", "softnet", "softirqs", "protocol counters",
		"threads"} {
		if n := strings.Count(all, "not measured: read "+want); n != 1 {
			t.Errorf("%d warnings name %s, want one:\n%s", n, want, all)
		}
	}
	h := ch.Figures()
	if h.RXDrops != nil || h.Retrans != nil || h.IRQCPU != "" {
		t.Errorf("filled from nothing: %+v", h)
	}
}

// Drops of an interface whose counters were reset in the window are not measured,
// and those of its backlog do not stand in for them.
func TestDropsReset(t *testing.T) {
	snapshot := func(dev string, dropped, missed uint64, softnet uint32) Snapshot {
		l := &rtnl.Link{Index: 2, Name: dev, Stats: &rtnl.Stats{RxDropped: dropped, RxMissedErrors: missed}}
		s := Snapshot{Config: Config{Dev: dev}, Link: l, Softnet: []procfs.SoftnetStat{{Dropped: softnet}}}
		if dev == "" {
			s.Link = nil
		}
		return s
	}
	for _, x := range []struct {
		name          string
		before, after Snapshot
		want          *uint64
		warning       string
	}{
		{"counted", snapshot("eth0", 10, 5, 1), snapshot("eth0", 12, 6, 9), ptr(uint64(3)), ""},
		{"reset", snapshot("eth0", 10, 5, 1), snapshot("eth0", 2, 6, 9), nil, "rx_dropped of interface eth0 fell"},
		{"one reset, the other grown", snapshot("eth0", 10, 5, 1), snapshot("eth0", 90, 0, 9), nil,
			"rx_missed_errors of interface eth0 fell"},
		{"no interface", snapshot("", 0, 0, 1), snapshot("", 0, 0, 9), ptr(uint64(8)), ""},
	} {
		ms, ch := Delta(x.before, x.after)
		h := ch.Figures()
		if (h.RXDrops == nil) != (x.want == nil) || x.want != nil && *h.RXDrops != *x.want {
			t.Errorf("%s: %v drops", x.name, h.RXDrops)
		}
		if all := strings.Join(ch.Warnings, "\n"); (x.warning == "") == strings.Contains(all, "interface") ||
			!strings.Contains(all, x.warning) {
			t.Errorf("%s: warnings %q", x.name, all)
		}
		for _, m := range ms {
			if x.warning != "" && strings.Contains(x.warning, strings.TrimPrefix(m.Name, "link_")) &&
				m.Name != "link_mtu" {
				t.Errorf("%s: %+v was not measured", x.name, m)
			}
		}
	}
}

func TestTakeFailsWithoutCPUColumns(t *testing.T) {
	if _, err := Take(Config{FS: FS{proc: "testdata", sys: "testdata"}}); err == nil {
		t.Error("no error")
	}
}

// Threads that ended in the window are the process' rest, and not pinned.
func TestOwnThreadsEnded(t *testing.T) {
	ts := ownThreads([]ThreadDelta{{CPU: 1, RunNs: 70}}, Rusage{RunNs: 100}, Rusage{RunNs: 200})
	if len(ts) != 2 || ts[1].RunNs != 30 || ts[1].CPU != -1 {
		t.Errorf("%+v", ts)
	}
}
