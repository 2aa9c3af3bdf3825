// SPDX-License-Identifier: MIT

package results

import (
	"slices"

	"github.com/zcbench/zcbench/machine/measure"
)

// oneWay is how much more a host must receive than it sends, or the other way, so that its
// namespace's counters are of the flow's payload and not of its acknowledgements.
const oneWay = 10

// PacketSizes computes how large a flow's packets are for the kernel's IP. It counts a packet that
// GRO or the sender's TCP made of many segments once, with all its bytes (net/ipv4/ip_input.c:
// ip_rcv_core, net/ipv6/ip6_input.c: ip6_rcv_core), and segments separately by their ECN bits. The
// counters are the namespace's: there is no size if its traffic goes both ways.
func PacketSizes(ms []measure.Metric) (out []measure.Metric) {
	sum := func(names ...string) (v float64) {
		for _, m := range ms {
			if slices.Contains(names, m.Name) {
				v += m.Value
			}
		}
		return v
	}
	const src = "/proc/net/snmp; /proc/net/netstat; /proc/net/snmp6"
	in, sent := sum("netstat_ip_ext_in_octets", "netstat_ip6_in_octets"), sum("netstat_ip_ext_out_octets",
		"netstat_ip6_out_octets")
	received, packets := sum("netstat_ip_in_receives", "netstat_ip6_in_receives"),
		sum("netstat_ip_out_requests", "netstat_ip6_out_requests")
	switch {
	case in > oneWay*sent && received > 0:
		out = append(out, measure.Metric{Name: measure.MetricRXPacketBytes, Unit: "bytes", Value: in / received,
			Source: src})
		if n := sum(segmentsIn...); n > 0 {
			out = append(out, measure.Metric{Name: measure.MetricRXPacketSegments, Unit: "packets", Value: n / received,
				Source: src})
		}
	case sent > oneWay*in && packets > 0:
		out = append(out, measure.Metric{Name: measure.MetricTXPacketBytes, Unit: "bytes", Value: sent / packets,
			Source: src})
	}
	return out
}

// segmentsIn count what IP received in packets of the wire, by their ECN bits: one that GRO or the
// NIC made of several counts as so many (net/ipv4/ip_input.c: ip_rcv_core).
var segmentsIn = []string{"netstat_ip_ext_in_no_ect_pkts", "netstat_ip_ext_in_ect0_pkts", "netstat_ip_ext_in_ect1_pkts",
	"netstat_ip_ext_in_ce_pkts",
	"netstat_ip6_in_no_ect_pkts", "netstat_ip6_in_ect0_pkts", "netstat_ip6_in_ect1_pkts", "netstat_ip6_in_ce_pkts"}

// WirePackets returns how many packets on the wire a host's flow was, and what counted them: those
// that its TCP sockets received or sent, whichever were more; with several flows, or if no socket
// counts them, those of the namespace: what IP received, or TCP sent. 0: nothing counted them.
func WirePackets(ms []measure.Metric) (n float64, source string) {
	sum := func(names ...string) (v float64) {
		for i := range ms {
			if len(ms[i].Of) == 0 && ms[i].Quality == "" && slices.Contains(names, ms[i].Name) {
				v += ms[i].Value
			}
		}
		return v
	}
	if n = max(sum("tcp_info_segs_in"), sum("tcp_info_segs_out")); n > 0 {
		return n, "TCP_INFO"
	}
	// net/ipv4/tcp_output.c: OutSegs is without retransmitted ones.
	in, out := sum(segmentsIn...), sum("netstat_tcp_out_segs", "netstat_tcp_retrans_segs")
	switch {
	case in == 0 && out == 0:
		return 0, ""
	case in >= out:
		return in, "/proc/net/netstat; /proc/net/snmp6"
	}
	return out, "/proc/net/snmp"
}
