// SPDX-License-Identifier: MIT

package tally

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/nic"
)

// Each family of counters is read, under its rows' names and from where docs/counters.md says;
// those of interfaces are in TestIntegrationTally and, with page pools and queues, in the lab's
// TestTally.
func TestFamilies(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(Config{Dev: "lo", Host: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var x *Reading
	if err := raw.Control(func(fd uintptr) { x = r.Read(int(fd)) }); err != nil {
		t.Fatal(err)
	}
	from := map[string]string{} // source by metric
	for _, c := range x.Counts {
		from[c.Metric] = c.Source
	}
	for _, f := range []struct {
		area    string
		file    string // without which this kernel or namespace has none
		source  string
		metrics string
	}{
		{Netstat, "/proc/net/snmp", "/proc/net/snmp", "netstat_tcp_in_segs netstat_udp_no_ports netstat_icmp_in_msgs"},
		{Netstat, "/proc/net/snmp6", "/proc/net/snmp6", "netstat_ip6_in_receives netstat_udp6_in_datagrams"},
		{Netstat, "/proc/net/netstat", "/proc/net/netstat", "netstat_tcp_ext_listen_drops netstat_ip_ext_in_octets"},
		{"softnet", "/proc/net/softnet_stat", "/proc/net/softnet_stat",
			"softnet_cpu0_processed softnet_cpu0_dropped softnet_cpu0_time_squeeze"},
		{"softirq", "/proc/softirqs", "/proc/softirqs", "softirq_cpu0_net_rx softirq_cpu0_net_tx softirq_cpu0_timer"},
		{"sockets", "/proc/net/sockstat", "/proc/net/sockstat", "sockstat_tcp_inuse sockstat_tcp_mem"},
		{"sockets", "/proc/sys/net/ipv4/tcp_mem", "/proc/sys/net/ipv4/tcp_mem",
			"tcp_mem_low tcp_mem_pressure tcp_mem_high"},
		{"socket", "/proc/self", "SO_MEMINFO", "socket_rmem_alloc socket_rcvbuf socket_wmem_alloc socket_sndbuf " +
			"socket_fwd_alloc socket_wmem_queued socket_optmem socket_backlog socket_drops"},
		{Link, "/proc/self", "rtnetlink", "link_rx_packets link_tx_bytes"},
	} {
		if _, err := os.Stat(f.file); err != nil {
			t.Logf("%s: %v", f.area, err)
			continue
		}
		for m := range strings.FieldsSeq(f.metrics) {
			if !strings.HasPrefix(from[m], f.source) {
				t.Errorf("%s: %s is of %q, want %s", f.area, m, from[m], f.source)
			}
		}
	}
}

// Interrupts are those of queues, by their numbers, or of their own numbers; one that is gone has
// no row.
func TestInterrupts(t *testing.T) {
	all, err := filepath.Glob("/sys/kernel/irq/[0-9]*")
	if err != nil || len(all) < 2 {
		t.Skipf("this machine tells of %d interrupts", len(all))
	}
	number := func(path string) int {
		n, err := strconv.Atoi(filepath.Base(path))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	a, b := number(all[0]), number(all[1])
	r := &Reader{irqs: []nic.QueueIRQ{{Queue: 3, IRQ: a}, {Queue: -1, IRQ: b}, {Queue: 4, IRQ: 1 << 24}}}
	x := &Reading{names: map[string]bool{}}
	counts, err := readIRQs(r, x)
	x.take(interrupt, counts, err)
	if len(x.Gaps) > 0 || len(x.Counts) != 2 || x.Counts[0].Metric != "interrupts_rx3" ||
		x.Counts[1].Metric != fmt.Sprintf("interrupts_irq%d", b) {
		t.Errorf("%+v, %v", x.Counts, x.Gaps)
	}
	for _, c := range x.Counts {
		if c.Area != interrupt || c.Kind != measure.Counter32 || c.Source != sourceIRQ {
			t.Errorf("%+v", c)
		}
	}
}

// The page has every area.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/counters.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range Sources {
		if !strings.Contains(string(page), "\n| "+s.Area+" | ") {
			t.Errorf("docs/counters.md has no row of %s", s.Area)
		}
	}
}
