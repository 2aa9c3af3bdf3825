// SPDX-License-Identifier: MIT

package ledger

import "slices"

// Way is one end of the way of a TCP flow's data: that which sends, or that which receives.
type Way struct {
	Sends   bool
	Counted []Counted // of the end's network namespace
	// Flow are the drops that were seen of packets of the flow, Others those of all else;
	// Unnamed packets were seen, and it is not known of what.
	Flow, Others []Drop
	Unnamed      uint64
	MaxSegments  uint64 // of a packet that GSO or GRO has made
	Refused      uint64 // see [Refused]
}

// lost are segments of a flow's data that were dropped at one end: at least those that were seen,
// and at most all that counters tell of and nobody saw besides.
type lost struct {
	Least, Most uint64
	// Refused packets, RefusedMost segments at most, are in Most, and the other end's backlog may
	// be what dropped them, which counts them too: Backlog is what an end's own has dropped.
	Refused, RefusedMost uint64
	Backlog              uint64
}

// The counters of data on its way, before TCP has it. What a sender receives, and a receiver
// sends, are acknowledgements; what TCP itself drops has come.
var (
	outLines = []string{"qdisc_drops", "tx_dropped"}
	inLines  = []string{"ip_in_hdr_errors", "ip_in_addr_errors", "ip_in_no_routes", "ip_in_truncated",
		"ip_in_unknown_protos", "ip_in_discards",
		"tcp_csum_errors", "softnet_dropped", "rx_dropped", "rx_missed"}
)

// Reasons that no counter has: of data for certain, and of either direction or of none.
var (
	outReasons   = []string{"QDISC_*", "TC_EGRESS", "BPF_CGROUP_EGRESS", "FULL_RING", "*@veth_xmit"}
	inReasons    = []string{"CPU_BACKLOG", "TC_INGRESS", "XDP", "TCP_CSUM"}
	eitherReason = []string{"NOT_SPECIFIED", "NETFILTER_DROP", "NOMEM", "IP_*", "DEV_*", "NEIGH_*", "SKB_*",
		"PKT_TOO_SMALL", "UNHANDLED_PROTO"}
)

// lost bounds how much of the flow's data was dropped at this end. The counters are of all packets;
// whose a packet was follows from those that were seen.
func (w *Way) Lost() (l lost) {
	lines, sure := inLines, inReasons
	if w.Sends {
		lines, sure = outLines, outReasons
	}
	flow, others := slices.Clone(w.Flow), slices.Clone(w.Others)
	for _, c := range w.Counted {
		if !slices.Contains(lines, c.Name) {
			continue
		}
		var mine, theirs []Drop
		mine, flow = claim(c.Reasons, flow)
		theirs, others = claim(c.Reasons, others)
		packets, skbs := packetsOf(mine)
		_, rest := packetsOf(theirs)
		unseen := c.Count - min(c.Count, skbs+rest)
		l.Least, l.Most = l.Least+packets, l.Most+packets+unseen*w.segments(c.Name)
		switch c.Name {
		case "tx_dropped":
			l.Refused = min(unseen, w.Refused)
			l.RefusedMost = l.Refused * w.segments(c.Name)
		case "softnet_dropped":
			l.Backlog = c.Count
		}
	}
	known, flow := claim(sure, flow)
	n, _ := packetsOf(known)
	maybe, _ := claim(eitherReason, flow)
	m, _ := packetsOf(maybe)
	l.Least, l.Most = l.Least+n, l.Most+n+m+w.Unnamed
	return l
}

// segments returns how many segments a packet of a counter may have been: those that the NIC had no
// room for are as they were on the wire.
func (w *Way) segments(counter string) uint64 {
	if counter == "rx_missed" {
		return 1
	}
	return max(w.MaxSegments, 1)
}

func packetsOf(drops []Drop) (packets, skbs uint64) {
	for _, d := range drops {
		packets, skbs = packets+d.Packets, skbs+d.SKBs
	}
	return packets, skbs
}
