// SPDX-License-Identifier: MIT

package results

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results/metrics"

	"github.com/zcbench/zcbench/machine/measure"
)

// Every row that a profile makes is a metric that docs/metrics.md has.
func TestProfiledRows(t *testing.T) {
	part := func(name string) ProfiledPart {
		return ProfiledPart{Name: name, Where: "softirq", SelfPerKB: ptr(1.0), SelfPerPacket: ptr(2.0),
			TotalPerKB: ptr(3.0), TotalPerPacket: ptr(4.0), SelfPerWire: ptr(.5), TotalPerWire: ptr(.75)}
	}
	p := &Profiled{Event: "cpu-clock", Samples: ptr(5.0), Lost: ptr(0.0), SampledBusyCores: ptr(.5), Packets: ptr(10.0),
		WirePackets: ptr(40.0), WireSource: "TCP_INFO", Busy: part(""), Classes: []ProfiledPart{part("page-pool"),
			part("copy")},
		Functions: []ProfiledPart{part("tcp_v4_rcv"), part("runtime.(*M).Go·1"), part("Tcp_v4_rcv")}}
	h := Host{Probes: &Probes{Profile: p}}
	seen := map[string]float64{}
	for _, m := range h.Rows() {
		if err := metrics.CheckRow(m.Name, m.Unit, m.Source); err != nil {
			t.Error(err)
		}
		if _, ok := seen[m.Name]; ok {
			t.Errorf("%s stands twice", m.Name)
		}
		seen[m.Name] = m.Value
	}
	for name, want := range map[string]float64{"profile_class_page_pool_ns_per_kb": 1,
		"profile_function_softirq_tcp_v4_rcv_total_ns_per_packet":    4,
		"profile_function_softirq_runtime___m__go__1_self_ns_per_kb": 1, "profile_busy_ns_per_packet": 2,
		"profile_lost_samples": 0,
		"profile_wire_packets": 40, "profile_class_copy_ns_per_wire_packet": .5,
		"profile_function_softirq_tcp_v4_rcv_total_ns_per_wire_packet": .75} {
		if got, ok := seen[name]; !ok || got != want {
			t.Errorf("%s: %v (%v), want %v", name, got, ok, want)
		}
	}
	if len(seen) != 4+3+2*3+2*6 {
		t.Errorf("%d rows", len(seen))
	}
}

// The flow's own sockets tell first; then what IP received, or TCP sent and sent again, whichever
// was more. What nothing counted is none.
func TestWirePackets(t *testing.T) {
	for _, x := range []struct {
		name   string
		ms     map[string]float64
		want   float64
		source string
	}{
		{"a receiver's socket", map[string]float64{"tcp_info_segs_in": 44_000, "tcp_info_segs_out": 500,
			"netstat_ip_ext_in_no_ect_pkts": 50_000}, 44_000, "TCP_INFO"},
		{"a sender's socket", map[string]float64{"tcp_info_segs_in": 500, "tcp_info_segs_out": 44_000}, 44_000,
			"TCP_INFO"},
		{"several flows, receiver", map[string]float64{"netstat_ip_ext_in_no_ect_pkts": 4000,
			"netstat_ip6_in_ect0_pkts": 1000, "netstat_tcp_out_segs": 900}, 5000, "/proc/net/netstat; /proc/net/snmp6"},
		{"several flows, sender", map[string]float64{"netstat_ip_ext_in_no_ect_pkts": 900, "netstat_tcp_out_segs": 5000,
			"netstat_tcp_retrans_segs": 7}, 5007, "/proc/net/snmp"},
		{"nothing counted", map[string]float64{"netstat_ip_in_receives": 7}, 0, ""},
	} {
		var ms []measure.Metric
		for name, v := range x.ms {
			ms = append(ms, measure.Metric{Name: name, Value: v})
		}
		n, source := WirePackets(ms)
		if n != x.want || source != x.source {
			t.Errorf("%s: %g by %q, want %g by %q", x.name, n, source, x.want, x.source)
		}
		d, _ := metrics.Describe("profile_wire_packets")
		described := append(strings.Split(d.Source, "; "), "") // "": nothing counted
		for one := range strings.SplitSeq(source, "; ") {
			if !slices.Contains(described, one) {
				t.Errorf("%s: by %q, which docs/metrics.md does not have: %q", x.name, one, d.Source)
			}
		}
	}
	if n, _ := WirePackets([]measure.Metric{{Name: "tcp_info_segs_in", Value: 5, Quality: "reset"}}); n != 0 {
		t.Errorf("a doubtful counter counts: %g", n)
	}
}
