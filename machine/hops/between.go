// SPDX-License-Identifier: MIT

package hops

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/machine/measure"

	"github.com/zcbench/zcbench/machine/ledger"
)

// Traffic is what an interface counted between two readings.
type Traffic struct {
	RxPackets, RxBytes, TxPackets, TxBytes uint64
	RxDropped, RxErrors, RxMissed          uint64
	TxDropped, TxErrors                    uint64
	RxNohandler                            uint64
	QdiscDrops                             uint64
	Reset                                  bool // one of its counters fell: it tells nothing
}

// Crossing is one direction between two neighbours.
type Crossing struct {
	From, To int    // numbers of the hops
	Left     string // the counter of the one: "tx"
	Came     string // that of the other
	Sent     uint64 // packets, by these
	Arrived  uint64
	Account  ledger.Balance
	// Skew is how many packets passed, as the counters themselves tell, while they were read at
	// the beginning and at the end: by so many the two may differ, and none was lost.
	Skew uint64
	// Begin and End are the packets that waited between the two.
	Begin, End queue
	// LostLeast and LostMost bound what was lost by the skew and by what waited. Untold is what is
	// left of it when all that is told and seen is taken away.
	LostLeast, LostMost     int64
	UntoldLeast, UntoldMost int64
	// Unknown are the queues between the two whose length nobody tells.
	Unknown []string
}

// Lost returns how many packets did not arrive; below 0 more arrived than were sent: by another
// way, or cut into more packets.
func (c *Crossing) Lost() int64 { return c.Account.Lost }

// End is a direction at an end of the path, where there is no neighbour to compare with: what the
// interface dropped before it counted as sent, or after it counted as received.
type End struct {
	Hop     int
	Sends   bool
	Account ledger.Balance
	// SeenLeast and SeenMost bound what was seen to be dropped between the two readings.
	SeenLeast, SeenMost uint64
}

// Diff is what passed along the path between two readings.
type Diff struct {
	Seconds   float64
	Hops      []Traffic
	Crossings []Crossing // those of the list's direction first
	Ends      []End

	own []Traffic // Hops, each loss at one of them
}

// DropsOf gives what was seen to be dropped of an interface's packets, of those that it was to
// send or those that it received; nil: nobody looked.
type DropsOf func(h *Hop, sends bool) []ledger.Drop

// Between compares two readings.
func (p *Path) Between(from, to Reading, seen Seen) (d Diff) {
	seen = seen.orNone()
	d.Seconds = float64(to.AtNs-from.AtNs) / 1e9
	for i := range to.Hops {
		t := traffic(&from.Hops[i], &to.Hops[i])
		t.Reset = t.Reset || fellMeanwhile(&from, &to, i)
		d.Hops = append(d.Hops, t)
	}
	d.own = p.ownDrops(d.Hops)
	for _, back := range []bool{false, true} {
		for _, l := range p.Links {
			x, y, r := l.From, l.To, l.Relation
			if back {
				x, y, r = y, x, r.mirror()
			}
			c := d.cross(p, x, y, r, seen.Of)
			c.bound(p, r, l.Sure, &from, &to, seen)
			d.Crossings = append(d.Crossings, c)
		}
	}
	last := len(p.Hops) - 1
	for _, e := range []struct {
		hop   int
		sends bool
	}{{0, true}, {last, false}, {last, true}, {0, false}} {
		if !d.accounted(e.hop, e.sends) {
			l := ledger.Ledger{Counted: d.own[e.hop].told(p.Hops[e.hop].String(), e.sends),
				Drops: seen.Of(&p.Hops[e.hop], e.sends)}
			if b := l.Add(); len(b.Rows) > 0 || b.Attributed > 0 {
				h := &p.Hops[e.hop]
				d.Ends = append(d.Ends, End{e.hop, e.sends, b, uint64(total(seen.Least(h, e.sends))),
					uint64(total(seen.Most(h, e.sends)))})
			}
		}
	}
	return d
}

// ownDrops takes from a veth's rx_dropped what its other end could not send, and counted: these
// packets were never received (drivers/net/veth.c: veth_forward_skb, net/core/dev.c:
// enqueue_to_backlog). Of one whose other end is not in the path, or read by another process at
// another moment, it is not known which they are: none is told.
func (p *Path) ownDrops(all []Traffic) []Traffic {
	own := slices.Clone(all)
	for i := range own {
		if p.Hops[i].Kind != "veth" {
			continue
		}
		repeated := own[i].RxDropped
		for _, l := range p.Links {
			if l.Relation == Wire && (l.From == i || l.To == i) && !p.apart(l.From, l.To) {
				repeated = min(repeated, all[l.From+l.To-i].TxDropped)
			}
		}
		own[i].RxDropped -= repeated
	}
	return own
}

func (r relation) mirror() relation {
	switch r {
	case up:
		return down
	case down:
		return up
	}
	return r
}

// accounted reports whether a crossing includes what a hop dropped in a direction.
func (d *Diff) accounted(hop int, sends bool) bool {
	for _, c := range d.Crossings {
		if sends && c.To == hop && c.Came == "tx" || !sends && c.From == hop && c.Left == "rx" {
			return true
		}
	}
	return false
}

// cross compares the counters of two neighbours in one direction.
func (d *Diff) cross(p *Path, x, y int, r relation, drops DropsOf) Crossing {
	c := Crossing{From: x, To: y, Left: "rx", Came: "tx"}
	switch r {
	case Wire:
		c.Left, c.Came = "tx", "rx"
	case up:
		c.Came = "rx"
	case down:
		c.Left = "tx"
	}
	a, b := &d.own[x], &d.own[y]
	c.Sent, c.Arrived = a.packets(c.Left), b.packets(c.Came)
	l := ledger.Ledger{Sent: c.Sent, Received: c.Arrived}
	if c.Left == "rx" { // it was received, and dropped on its way on
		l.Counted = append(l.Counted, a.told(p.Hops[x].String(), false)...)
		l.Drops = append(l.Drops, drops(&p.Hops[x], false)...)
	}
	if c.Came == "tx" { // it came to be sent, and was not
		l.Counted = append(l.Counted, b.told(p.Hops[y].String(), true)...)
		l.Drops = append(l.Drops, drops(&p.Hops[y], true)...)
	}
	if r == Wire && p.Hops[y].Kind != "veth" {
		l.Counted = append(l.Counted, counted(p.Hops[y].String(), "rx_missed_errors", b.RxMissed),
			counted(p.Hops[y].String(), "rx_errors", b.RxErrors))
	}
	c.Account = l.Add()
	return c
}

func counted(dev, name string, n uint64, reasons ...string) ledger.Counted {
	return ledger.Counted{Name: dev + " " + name, Source: "rtnetlink", Count: n, Reasons: reasons}
}

// told lists the counters of what an interface lost in a direction, such that no packet is in two.
func (t *Traffic) told(dev string, sends bool) []ledger.Counted {
	if sends {
		return []ledger.Counted{counted(dev, "qdisc drops", t.QdiscDrops, "QDISC_*"),
			counted(dev, "tx_dropped", t.TxDropped, "*@veth_xmit", "FULL_RING", "DEV_READY"),
			counted(dev, "tx_errors", t.TxErrors)}
	}
	return []ledger.Counted{counted(dev, "rx_dropped", t.RxDropped, "CPU_BACKLOG", "UNHANDLED_PROTO"),
		counted(dev, "rx_nohandler", t.RxNohandler)}
}

func (t *Traffic) packets(way string) uint64 {
	if way == "rx" {
		return t.RxPackets
	}
	return t.TxPackets
}

// traffic computes by how much a hop's counters grew.
func traffic(from, to *Counts) (t Traffic) {
	grew := func(a, b uint64) uint64 {
		if b < a {
			t.Reset = true
			return 0
		}
		return b - a
	}
	a, b := &from.Stats, &to.Stats
	t.RxPackets, t.RxBytes = grew(a.RxPackets, b.RxPackets), grew(a.RxBytes, b.RxBytes)
	t.TxPackets, t.TxBytes = grew(a.TxPackets, b.TxPackets), grew(a.TxBytes, b.TxBytes)
	t.RxDropped, t.RxErrors, t.RxMissed = grew(a.RxDropped, b.RxDropped), grew(a.RxErrors, b.RxErrors),
		grew(a.RxMissedErrors, b.RxMissedErrors)
	t.TxDropped, t.TxErrors, t.RxNohandler = grew(a.TxDropped, b.TxDropped), grew(a.TxErrors, b.TxErrors),
		grew(a.RxNohandler, b.RxNohandler)
	for _, c := range []*Counts{from, to} { // also while it was read
		grew(c.RxPackets, c.Again.RxPackets)
		grew(c.TxPackets, c.Again.TxPackets)
	}
	grew(from.Again.RxPackets, b.RxPackets)
	grew(from.Again.TxPackets, b.TxPackets)
	if from.Qdisc == to.Qdisc {
		t.QdiscDrops = uint64(uint32(to.QdiscDrops - from.QdiscDrops)) // 32 bits wide
	} else {
		t.QdiscDrops = to.QdiscDrops
	}
	return t
}

// sendingReasons are those for which a packet is dropped that was to leave.
var sendingReasons = []string{"QDISC_", "TC_EGRESS", "BPF_CGROUP_EGRESS", "FULL_RING", "DEV_READY"}

// Leaving reports whether a dropped packet was to leave by its interface; any other had come in by
// it.
func Leaving(d ledger.Drop) bool {
	for _, begin := range sendingReasons {
		if strings.HasPrefix(d.Reason, begin) {
			return true
		}
	}
	return d.Function == "veth_xmit"
}

// Name words a crossing: "a tx -> b rx".
func (p *Path) Name(c *Crossing) string {
	return fmt.Sprintf("%s %s -> %s %s", p.Hops[c.From].Place, c.Left, p.Hops[c.To].Place, c.Came)
}

// Metrics describe what passed along a path and what was lost.
var Metrics = []measure.MetricDoc{
	{Names: "path_N_rx_packets path_N_tx_packets path_N_rx_bytes path_N_tx_bytes",
		Units: "packets packets bytes bytes", Source: "rtnetlink",
		Meaning: "what the interface received and sent, of whatever traffic"},
	{Names: "path_N_to_N_sent_packets path_N_to_N_arrived_packets path_N_to_N_lost_packets",
		Units: "packets", Source: "rtnetlink",
		Meaning: "what the one counted and the next one counted of the same packets, and the " +
			"difference"},
	{Names: "path_N_to_N_lost_least_packets path_N_to_N_lost_most_packets path_N_to_N_skew_packets",
		Units: "packets", Source: "rtnetlink",
		Meaning: "bounds of what was really lost between the two, by the packets that passed while " +
			"the counters were read (the last name), and by those that waited"},
	{Names: "path_N_to_N_untold_least_packets path_N_to_N_untold_most_packets",
		Units: "packets", Source: "rtnetlink",
		Meaning: "bounds of what was lost between the two and no counter tells"},
	{Names: "path_N_to_N_told_NAME_packets path_N_rx_told_NAME_packets path_N_tx_told_NAME_packets",
		Units: "packets", Source: "rtnetlink",
		Meaning: "what a counter tells of a loss between two, and at the two ends of the path"},
}
