// SPDX-License-Identifier: MIT

package ledger

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/procfs"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// Counters are what tells lost packets of a network namespace at a time. The backlog's are
// of the whole machine.
type Counters struct {
	protocols counter.Netstat
	links     []rtnl.Link
	softnet   []procfs.SoftnetStat
	qdiscs    map[int]rtnl.Qdisc // the outermost, by interface
}

// Read reads them in the calling thread's network namespace.
func Read() (c Counters, err error) {
	var errs [4]error
	c.protocols, errs[0] = counter.ReadNetstat(counter.FS{})
	c.links, errs[1] = rtnl.Links()
	c.softnet, errs[2] = counter.ReadSoftnet(counter.FS{})
	all, err := rtnl.Qdiscs()
	c.qdiscs, errs[3] = map[int]rtnl.Qdisc{}, err
	for _, q := range all {
		if q.Parent == rtnl.QdiscRoot {
			c.qdiscs[q.Index] = q // those below it are in its count
		}
	}
	return c, errors.Join(errs[:]...)
}

// protocolLines are counters of /proc/net/snmp, netstat and snmp6: what each is the sum of,
// less what of it other lines have. In the order in which they claim drops.
var protocolLines = []struct {
	name, plus, minus string // names apart by blanks
	reasons           []string
}{
	{"udp_rcvbuf_errors", "UdpRcvbufErrors Udp6RcvbufErrors", "", []string{"SOCKET_RCVBUFF"}},
	{"udp_mem_errors", "UdpMemErrors Udp6MemErrors", "", []string{"PROTO_MEM"}},
	{"udp_csum_errors", "UdpInCsumErrors Udp6InCsumErrors", "", []string{"UDP_CSUM"}},
	// net/ipv4/udp.c: who counts one of those above counts InErrors too.
	{"udp_in_errors", "UdpInErrors Udp6InErrors",
		"UdpRcvbufErrors Udp6RcvbufErrors UdpMemErrors Udp6MemErrors UdpInCsumErrors Udp6InCsumErrors",
		[]string{"SOCKET_FILTER"}},
	{"udp_no_ports", "UdpNoPorts Udp6NoPorts", "", []string{"NO_SOCKET"}},
	{"ip_in_hdr_errors", "IpInHdrErrors Ip6InHdrErrors", "", []string{"IP_INHDR", "IP_CSUM"}},
	{"ip_in_addr_errors", "IpInAddrErrors Ip6InAddrErrors", "", []string{"IP_INADDRERRORS", "IP_INVALID_DEST",
		"IP_INVALID_SOURCE"}},
	{"ip_in_no_routes", "IpExtInNoRoutes Ip6InNoRoutes", "", []string{"IP_INNOROUTES"}},
	{"ip_in_truncated", "IpExtInTruncatedPkts Ip6InTruncatedPkts", "", []string{"PKT_TOO_SMALL"}},
	{"ip_in_unknown_protos", "IpInUnknownProtos Ip6InUnknownProtos", "", []string{"IP_NOPROTO"}},
	{"ip_in_discards", "IpInDiscards Ip6InDiscards", "", []string{"XFRM_POLICY"}},
	{"tcp_csum_errors", "TcpInCsumErrors", "", []string{"TCP_CSUM"}},
	{"tcp_backlog_drops", "TcpExtTCPBacklogDrop", "", []string{"SOCKET_BACKLOG"}},
	{"tcp_rcvq_drops", "TcpExtTCPRcvQDrop", "", []string{"PROTO_MEM"}},
	{"tcp_zero_window_drops", "TcpExtTCPZeroWindowDrop", "", []string{"TCP_ZEROWINDOW"}},
	{"tcp_ofo_drops", "TcpExtTCPOFODrop", "", []string{"TCP_OFO_DROP"}},
	{"tcp_ofo_pruned", "TcpExtOfoPruned", "", []string{"TCP_OFO_QUEUE_PRUNE"}},
	{"tcp_listen_drops", "TcpExtListenDrops", "", []string{"TCP_LISTEN_OVERFLOW"}},
}

// Between computes the lines of a namespace: what each counter counted between two readings, such
// that no packet is in two of them.
func Between(before, after Counters) (lines []Counted) {
	for _, x := range protocolLines {
		n, from := sumOf(before.protocols, after.protocols, x.plus)
		if from == "" {
			continue // this kernel has none
		}
		less, _ := sumOf(before.protocols, after.protocols, x.minus)
		lines = append(lines, Counted{x.name, from, n - min(n, less), x.reasons})
	}
	lines = append(lines, sending(before, after)...)
	return append(lines, receiving(before, after)...)
}

// sumOf adds what counters have grown by. One that fell was reset: it tells nothing.
func sumOf(before, after counter.Netstat, names string) (n uint64, source string) {
	var from []string
	for _, name := range strings.Fields(names) {
		a, known := after[name]
		b := before[name]
		if !known {
			continue
		}
		from = append(from, name)
		n += grown(b.Value, a.Value)
	}
	return n, strings.Join(from, " + ")
}

func grown(before, after uint64) uint64 { return after - min(before, after) }

// sending computes the lines below a sender: its queueing disciplines, what its sockets were told
// beyond these, and its interfaces.
func sending(before, after Counters) []Counted {
	var drops, told uint64
	var kinds []string
	for _, index := range slices.Sorted(maps.Keys(after.qdiscs)) {
		a, b := after.qdiscs[index], before.qdiscs[index]
		if b.Handle != a.Handle || b.Kind != a.Kind {
			b = rtnl.Qdisc{} // it is a new one
		}
		n := uint64(a.Drops - b.Drops) // 32 bits wide
		if n > 0 {
			kinds = append(kinds, fmt.Sprintf("%s %d", a.Kind, n))
		}
		drops += n
	}
	told, from := sumOf(before.protocols, after.protocols, "UdpSndbufErrors Udp6SndbufErrors")
	tx, dev := perLink(before, after, txLost)
	direct, _ := perLink(before, Counters{links: withoutQueue(after)}, txLost)
	return []Counted{
		{"qdisc_drops", strings.Join(append([]string{"TCA_STATS2"}, kinds...), ", "), drops, []string{"QDISC_*"}},
		// A packet that a qdisc or a program at tc egress drops is told to the socket as
		// ENOBUFS, which UDP counts, although send succeeds (net/ipv4/udp.c: udp_send_skb). So
		// is one that an interface without a queue refuses (net/core/dev.c: __dev_queue_xmit).
		{"udp_sndbuf_errors", from + ", less qdisc_drops and tx_dropped", told - min(told, drops+direct),
			[]string{"TC_EGRESS"}},
		{"tx_dropped", "interfaces" + dev, tx, []string{"*@veth_xmit", "FULL_RING", "DEV_READY"}},
	}
}

func txLost(s *rtnl.Stats) uint64 { return s.TxDropped + s.TxErrors }

// withoutQueue selects the interfaces whose packets go out by the call that sends them.
func withoutQueue(c Counters) (out []rtnl.Link) {
	for _, l := range c.links {
		if q, ok := c.qdiscs[l.Index]; !ok || q.Kind == "noqueue" {
			out = append(out, l)
		}
	}
	return out
}

// receiving computes the lines of what came to interfaces and did not reach IP.
func receiving(before, after Counters) []Counted {
	var backlog uint64
	for _, d := range counter.SoftnetBetween(before.softnet, after.softnet) {
		backlog += uint64(d.Dropped)
	}
	dropped, dev := perLink(before, after, func(s *rtnl.Stats) uint64 { return s.RxDropped })
	missed, missedBy := perLink(before, after, func(s *rtnl.Stats) uint64 { return s.RxMissedErrors + s.RxErrors })
	// net/core/dev.c, Linux 7.3.4: enqueue_to_backlog counts at both.
	backlog = min(backlog, dropped)
	return []Counted{
		{"softnet_dropped", counter.SoftnetSource, backlog, []string{"CPU_BACKLOG"}},
		{"rx_dropped", "interfaces" + dev + ", less softnet_dropped", dropped - backlog, []string{"UNHANDLED_PROTO"}},
		{"rx_missed", "interfaces" + missedBy, missed, nil},
	}
}

// perLink adds what the interfaces have grown by, and says which.
func perLink(before, after Counters, of func(*rtnl.Stats) uint64) (n uint64, which string) {
	was := map[int]uint64{}
	for _, l := range before.links {
		if l.Stats != nil {
			was[l.Index] = of(l.Stats)
		}
	}
	for _, l := range after.links {
		if l.Stats == nil || l.Kind == "bond" { // whose counters are the sum of its ports' (bond_get_stats)
			continue
		}
		if d := grown(was[l.Index], of(l.Stats)); d > 0 {
			n += d
			which += fmt.Sprintf(", %s %d", l.Name, d)
		}
	}
	return n, which
}

// Refused counts the packets that veths counted as dropped when they sent them. Between two veths
// without NAPI the sender's call puts a packet into the other end's backlog: what that has no room
// for is in softnet_dropped there, and here as well (drivers/net/veth.c: veth_xmit,
// veth_forward_skb). Where the other veth has NAPI (GRO, XDP) these are not the same packets.
func Refused(before, after Counters) uint64 {
	var veths []rtnl.Link
	for _, l := range after.links {
		if l.Kind == "veth" {
			veths = append(veths, l)
		}
	}
	n, _ := perLink(before, Counters{links: veths}, txLost)
	return n
}

// Ingress computes how many packets interfaces passed on that did not reach IP: those dropped at tc
// ingress, which has no counter unless it is a qdisc's, and those of other protocols. It is exact
// where GRO makes no super-packets and nothing but IP is received.
func Ingress(before, after Counters) Counted {
	received, _ := perLink(before, after, func(s *rtnl.Stats) uint64 { return s.RxPackets })
	var dropped uint64
	for _, c := range receiving(before, after) {
		if c.Name == "softnet_dropped" {
			dropped = c.Count
		}
	}
	ip, from := sumOf(before.protocols, after.protocols, "IpInReceives Ip6InReceives")
	return Counted{"ingress_dropped", "rx_packets of interfaces less softnet_dropped, " + from,
		received - min(received, ip+dropped), []string{"TC_INGRESS"}}
}
