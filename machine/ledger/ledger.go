// SPDX-License-Identifier: MIT

// Package ledger accounts for packets that were sent and not received: first by counters
// that the kernel keeps anyway and that are exact, then by what frees packets as dropped
// (package bpf: the probe drops), which says why and where. What neither tells has a row of
// its own.
package ledger

import (
	"slices"
	"strings"
)

// Counted is one of the kernel's counters of packets that were lost.
type Counted struct {
	Name   string // as in metrics.csv: "udp_rcvbuf_errors"
	Source string // where it was read: "/proc/net/snmp: UdpRcvbufErrors"
	Count  uint64
	// Reasons are those for which the kernel then drops the packet: "SOCKET_RCVBUFF", the
	// beginning of several, "QDISC_*", or one at a function alone, "*@veth_xmit". Of
	// several counters that could tell a drop the first does.
	Reasons []string
}

// Drop is what was dropped for a reason at a place.
type Drop struct {
	Reason, Function string
	Packets          uint64
	SKBs             uint64 // of GSO and GRO one has several packets
}

// Ledger is the account of some packets: of a flow, or of a host.
type Ledger struct {
	Sent, Received uint64 // by the two programs
	Counted        []Counted
	Drops          []Drop
	// SuperPackets is that the counters count what GSO or GRO has made of several packets
	// as one. Then MaxSegments is the most packets in one.
	SuperPackets bool
	MaxSegments  uint64
}

// Row is what one counter tells, with its reasons.
type Row struct {
	Counted
	// Least and Most packets that were lost so: the same, unless the counter counts
	// super-packets that nothing else has told.
	Least, Most uint64
	// Attributed is how many of these packets were seen to be dropped, and why.
	Attributed uint64
	Why        []Drop
	// Beyond is how many more were seen to be dropped than the counter has: something is
	// counted twice, or by another counter.
	Beyond uint64
}

// Balance is a ledger that was added up.
type Balance struct {
	Lost int64 // sent less received; below 0: packets were doubled
	Rows []Row // of the counters that counted, in their order
	// Uncounted are drops that no counter told.
	Uncounted []Drop
	// Left are the packets that no counter tells, between LeftLeast and LeftMost: below 0
	// the counters tell of more than was lost.
	LeftLeast, LeftMost int64
	// Attributed is how many of the lost packets have a reason, and Unattributed how many
	// have none; below 0 more was dropped than was lost.
	Attributed   uint64
	Unattributed int64
}

// Closes reports whether the counters account for every packet, exactly.
func (b *Balance) Closes() bool { return b.LeftLeast == 0 && b.LeftMost == 0 }

// Share computes what share of the lost packets has a reason: 1 is all, also where none was lost.
func (b *Balance) Share() float64 {
	if b.Lost <= 0 {
		return 1
	}
	return 1 - float64(max(b.Unattributed, 0))/float64(b.Lost)
}

// Add makes the balance.
func (l *Ledger) Add() Balance {
	b := Balance{Lost: int64(l.Sent - l.Received), Uncounted: slices.Clone(l.Drops)}
	b.Unattributed, b.LeftLeast, b.LeftMost = b.Lost, b.Lost, b.Lost
	for _, c := range l.Counted {
		if c.Count == 0 {
			continue
		}
		var why []Drop
		why, b.Uncounted = claim(c.Reasons, b.Uncounted)
		r := l.row(c, why)
		b.Rows = append(b.Rows, r)
		b.LeftLeast -= int64(r.Most)
		b.LeftMost -= int64(r.Least)
		b.Attributed += r.Attributed
	}
	for _, d := range b.Uncounted {
		b.Attributed += d.Packets
	}
	b.Unattributed -= int64(b.Attributed)
	return b
}

// row holds a counter against what was seen of it.
func (l *Ledger) row(c Counted, why []Drop) Row {
	r := Row{Counted: c, Why: why}
	var packets, skbs uint64
	for _, d := range why {
		packets, skbs = packets+d.Packets, skbs+d.SKBs
	}
	if !l.SuperPackets {
		r.Least, r.Most = c.Count, c.Count
		r.Attributed = min(packets, c.Count)
		r.Beyond = packets - r.Attributed
		return r
	}
	if skbs > c.Count { // which of them were counted is not known
		r.Least, r.Most = c.Count, packets
		r.Attributed, r.Beyond = packets, skbs-c.Count
		return r
	}
	unseen := c.Count - skbs
	r.Least, r.Most, r.Attributed = packets+unseen, packets+unseen*max(l.MaxSegments, 1), packets
	return r
}

// claim parts the drops that a counter tells from the others.
func claim(reasons []string, drops []Drop) (mine, rest []Drop) {
	for _, d := range drops {
		if slices.ContainsFunc(reasons, func(pattern string) bool { return matches(pattern, d) }) {
			mine = append(mine, d)
		} else {
			rest = append(rest, d)
		}
	}
	return mine, rest
}

func matches(pattern string, d Drop) bool {
	reason, function, at := strings.Cut(pattern, "@")
	if at && d.Function != function {
		return false
	}
	if begin, several := strings.CutSuffix(reason, "*"); several {
		return strings.HasPrefix(d.Reason, begin)
	}
	return d.Reason == reason
}

// OfPackets reports whether a counter may be of packets that no TCP sends again: all but TCP's own.
func OfPackets(name string) bool { return !strings.HasPrefix(name, "tcp_") }
