// SPDX-License-Identifier: MIT

package hops

import (
	"fmt"

	"github.com/zcbench/zcbench/machine/ledger"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// Seen is what was seen to be dropped between two readings. Drops are read before and after the
// counters are: Least are those of the shortest time, Most those of the longest. Where a function
// is nil nobody looked.
type Seen struct{ Of, Least, Most DropsOf }

func (s Seen) orNone() Seen {
	none := func(*Hop, bool) []ledger.Drop { return nil }
	for _, f := range []*DropsOf{&s.Of, &s.Least, &s.Most} {
		if *f == nil {
			*f = none
		}
	}
	return s
}

// queue is how many packets waited between two counters, when it was read.
type queue struct {
	Qdisc   uint64 // in the queueing disciplines of the one that sends
	Backlog uint64 // in those of the CPUs, of this path or not
	InHand  uint64 // at most: what CPUs were just taking from the one to the other
}

// span is how much a counter grew between a moment within the first reading and one within the
// second.
type span struct{ first, least, most int64 }

func grown(from, to *Counts, of func(*rtnl.Stats) uint64) span {
	a, b, x, y := of(&from.Stats), of(&from.Again), of(&to.Stats), of(&to.Again)
	return span{int64(x - a), int64(x - b), int64(y - a)}
}

// pinned narrows the span to the very moment of the readings on the way there.
func (s span) pinned() span { return span{s.first, s.first, s.first} }

func (s span) width() int64 { return s.most - s.least }

// bound finds between which numbers of packets the crossing lost. No rate is assumed: what passed
// while the counters were read is known from the counters themselves.
func (c *Crossing) bound(p *Path, r relation, sure bool, from, to *Reading, seen Seen) {
	apart := p.apart(c.From, c.To)
	left := grown(from.of(c.From, apart), to.of(c.From, apart), packetsOf(c.Left))
	came := grown(from.of(c.To, apart), to.of(c.To, apart), packetsOf(c.Came))
	switch {
	case apart: // a hop of this process is read between the others' two readings
		if p.Hops[c.From].reader == 0 {
			left = left.pinned()
		} else if p.Hops[c.To].reader == 0 {
			came = came.pinned()
		}
	case r == Wire: // no queue that was read in the middle: the inner one's own moment will do
		if c.From < c.To {
			came = came.pinned()
		} else {
			left = left.pinned()
		}
	}
	c.Skew = uint64(left.width() + came.width())
	c.Begin, c.End = p.queue(c, from), p.queue(c, to)
	c.Begin.InHand = p.inHand(c, r, from, to)
	c.End.InHand = c.Begin.InHand
	q := int64(c.End.Qdisc) - int64(c.Begin.Qdisc)
	c.LostLeast = left.least - came.most - q - int64(c.End.Backlog+c.End.InHand)
	c.LostMost = left.most - came.least - q + int64(c.Begin.Backlog+c.Begin.InHand)

	told, off := int64(0), int64(0)
	for _, row := range c.Account.Rows {
		told += int64(row.Count)
	}
	least, most := int64(0), int64(0)
	look := func(hop int, sends bool) {
		off += p.lossWidth(hop, sends, from, to)
		h := &p.Hops[hop]
		now := total(seen.Of(h, sends))
		least, most = least+total(seen.Least(h, sends))-now, most+total(seen.Most(h, sends))-now
	}
	if c.Left == "rx" {
		look(c.From, false)
	}
	if c.Came == "tx" {
		look(c.To, true)
	}
	if r == Wire && p.Hops[c.To].Kind != "veth" {
		for _, of := range []func(*rtnl.Stats) uint64{func(s *rtnl.Stats) uint64 { return s.RxMissedErrors },
			func(s *rtnl.Stats) uint64 { return s.RxErrors }} {
			off += grown(from.of(c.To, apart), to.of(c.To, apart), of).width()
		}
	}
	uncounted := total(c.Account.Uncounted)
	c.UntoldLeast = c.LostLeast - told - off - uncounted - most
	c.UntoldMost = c.LostMost - told + off - uncounted - least
	c.Unknown = p.unknown(c, r, sure, p.stack(c, from).BacklogKnown && p.stack(c, to).BacklogKnown)
}

// pollWeight is what a driver takes from a ring in one poll, at most (include/linux/netdevice.h:
// NAPI_POLL_WEIGHT).
const pollWeight = 64

// inHand bounds how many packets were on their way through the stack at one moment, counted by one
// of the two and not yet by the other: no queue has what a CPU has taken out. Of received packets,
// a CPU that processes them holds one at a time (net/core/dev.c: process_backlog,
// __netif_receive_skb), or a poll's, which some drivers count as they come and some at its end. Of
// packets sent on to a lower interface any CPU may hold one, and which of the two counts it first
// depends on the driver (net/8021q/vlan_dev.c: vlan_dev_hard_start_xmit counts last).
func (p *Path) inHand(c *Crossing, r relation, from, to *Reading) uint64 {
	begin, end := p.stack(c, from).Processed, p.stack(c, to).Processed
	switch {
	case r == Wire: // both count it in one place, or a ring is between them, which is told
		return 0
	case c.Left == "tx":
		return uint64(max(len(end), 1))
	}
	busy := uint64(0)
	for cpu, n := range end {
		if n != begin[cpu] {
			busy++
		}
	}
	if p.Hops[c.From].Kind == "" { // a NIC
		return max(busy, 1) * pollWeight
	}
	return max(busy, 1)
}

func packetsOf(way string) func(*rtnl.Stats) uint64 {
	if way == "rx" {
		return func(s *rtnl.Stats) uint64 { return s.RxPackets }
	}
	return func(s *rtnl.Stats) uint64 { return s.TxPackets }
}

func (p *Path) queue(c *Crossing, r *Reading) (q queue) {
	if c.Came == "tx" {
		q.Qdisc = r.Hops[c.To].QLen
	}
	if c.Left == "rx" {
		q.Backlog = p.stack(c, r).Backlog
	}
	return q
}

// lossWidth sums by how many packets the counters of what a hop lost grew while they were read, and
// for a veth that of its other end, which is subtracted from them.
func (p *Path) lossWidth(hop int, sends bool, from, to *Reading) (w int64) {
	add := func(i int, of func(*rtnl.Stats) uint64) { w += grown(&from.Hops[i], &to.Hops[i], of).width() }
	dropped := func(s *rtnl.Stats) uint64 { return s.TxDropped }
	if sends {
		add(hop, dropped)
		add(hop, func(s *rtnl.Stats) uint64 { return s.TxErrors })
		return w
	}
	add(hop, func(s *rtnl.Stats) uint64 { return s.RxDropped })
	add(hop, func(s *rtnl.Stats) uint64 { return s.RxNohandler })
	for _, l := range p.Links {
		if l.Relation == Wire && (l.From == hop || l.To == hop) && p.Hops[hop].Kind == "veth" &&
			!p.apart(l.From, l.To) {
			add(l.From+l.To-hop, dropped)
		}
	}
	return w
}

func total(drops []ledger.Drop) (n int64) {
	for _, d := range drops {
		n += int64(d.Packets)
	}
	return n
}

// unknown names what is between two counters, and how much of it waits the kernel does not tell.
// The ends of a veth have nothing between them: both count a packet in one place
// (drivers/net/veth.c: veth_get_stats64).
func (p *Path) unknown(c *Crossing, r relation, sure, backlog bool) (out []string) {
	from, to := &p.Hops[c.From], &p.Hops[c.To]
	switch {
	case r == Wire && to.Kind == "veth" && !sure:
		out = append(out, fmt.Sprintf("what is between %s and %s", from, to))
	case r == Wire && to.Kind != "veth":
		out = append(out, fmt.Sprintf("the rings of %s and %s, and what their drivers count late", from, to))
	case c.Came == "tx" && to.Kind == "veth":
		out = append(
			out, fmt.Sprintf("the ring of %s's other end (if it has GRO or XDP on: 256 packets for each queue)", to))
	case c.Came == "tx" && to.Kind == "":
		out = append(out, fmt.Sprintf("the transmit ring of %s", to))
	}
	if c.Left == "rx" && !backlog {
		out = append(out, "the CPUs' backlogs")
	}
	return out
}
