// SPDX-License-Identifier: MIT

package hops

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/ledger"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// Who is related to whom is as the kernel says, and an index that is the same elsewhere is no peer.
func TestRelate(t *testing.T) {
	a, b := &space{name: "a"}, &space{name: "b"}
	a.ids, b.ids = map[*space]int{b: 4}, map[*space]int{a: 0}
	in := func(s *space, h Hop) Hop {
		h.space, h.Inode = s, map[*space]uint64{a: 1, b: 2}[s]
		if h.Kind != "veth" {
			h.PeerNetns = -1
		}
		return h
	}
	eth := in(a, Hop{Index: 2})
	vlan := in(a, Hop{Index: 3, Kind: "vlan", Lower: 2})
	bridge := in(a, Hop{Index: 4, Kind: "bridge"})
	port := in(a, Hop{Index: 5, Kind: "veth", Master: 4, Peer: 9, PeerNetns: 4})
	other := in(a, Hop{Index: 6, Master: 4})
	there := in(b, Hop{Index: 9, Kind: "veth", Peer: 5, PeerNetns: 0})
	stranger := in(b, Hop{Index: 9, Kind: "veth", Peer: 5, PeerNetns: 7})
	far := in(b, Hop{Index: 2})
	one, two := in(a, Hop{Index: 7, Kind: "veth", Peer: 8, PeerNetns: -1}),
		in(a, Hop{Index: 8, Kind: "veth", Peer: 7, PeerNetns: -1})
	for name, x := range map[string]struct {
		x, y Hop
		want relation
		sure bool
	}{
		"a VLAN on its port": {eth, vlan, up, true}, "down again": {vlan, eth, down, true},
		"a port of a bridge": {port, bridge, up, true}, "from a bridge": {bridge, other, down, true},
		"two ports": {port, other, Across, true}, "routed": {eth, other, Across, false},
		"a veth to elsewhere": {port, there, Wire, true}, "the same index elsewhere": {port, stranger, Wire, false},
		"a veth here": {one, two, Wire, true}, "a cable": {eth, far, Wire, false},
	} {
		if r, sure := relate(&x.x, &x.y); r != x.want || sure != x.sure {
			t.Errorf("%s: %s, %t", name, r, sure)
		}
	}
	l := links([]Hop{port, bridge, other, eth})
	if len(l) != 2 || l[0] != (Link{0, 2, Across, true}) || l[1].From != 2 || l[1].Relation != Across {
		t.Errorf("a bridge between its ports: %+v", l)
	}
	if l := links([]Hop{port, bridge, eth}); len(l) != 2 || l[0].Relation != up {
		t.Errorf("a bridge's own traffic: %+v", l)
	}
}

// What vanishes is found where it does, in both directions, and no packet is told twice.
func TestBetween(t *testing.T) {
	p := &Path{Hops: []Hop{{Place: Place{Dev: "a"}, Kind: "veth"}, {Place: Place{Dev: "pa"}, Kind: "veth"},
		{Place: Place{Dev: "pb"}}, {Place: Place{Dev: "b"}}},
		Links: []Link{{0, 1, Wire, true}, {1, 2, Across, true}, {2, 3, Wire, false}}}
	var from, to Reading
	from.Hops = make([]Counts, 4)
	to.AtNs = 2e9
	to.Hops = []Counts{
		{Stats: rtnl.Stats{TxPackets: 1000, RxPackets: 90, TxDropped: 5}},
		{Stats: rtnl.Stats{RxPackets: 1000, TxPackets: 90, RxDropped: 30}, QdiscDrops: 3},
		{Stats: rtnl.Stats{TxPackets: 900, RxPackets: 100, TxDropped: 20, TxErrors: 10}},
		{Stats: rtnl.Stats{RxPackets: 880, RxMissedErrors: 20, TxPackets: 100, RxDropped: 7}},
	}
	drops := func(h *Hop, sends bool) []ledger.Drop {
		if h.Dev == "pa" && !sends {
			return []ledger.Drop{{Reason: "NETFILTER_DROP", Function: "nf_hook_slow", Packets: 40, SKBs: 40}}
		}
		return nil
	}
	seen := Seen{drops, drops, drops}
	again(to)
	d := p.Between(from, to, seen)
	if len(d.Crossings) != 6 || d.Seconds != 2 {
		t.Fatalf("%+v", d)
	}
	for i, want := range []struct {
		name       string
		lost, left int64
		rows       int
	}{{"a tx -> pa rx", 0, 0, 0}, {"pa rx -> pb tx", 100, 45, 3}, {"pb tx -> b rx", 20, 0, 1},
		{"pa tx -> a rx", 0, 0, 0}, {"pb rx -> pa tx", 10, 7, 1}, {"b tx -> pb rx", 0, 0, 0}} {
		c := &d.Crossings[i]
		if p.Name(c) != want.name || c.Lost() != want.lost || c.Account.LeftLeast != want.left ||
			len(c.Account.Rows) != want.rows {
			t.Errorf("%s: lost %d, left %d, %+v; want %+v", p.Name(c), c.Lost(), c.Account.LeftLeast, c.Account, want)
		}
	}
	if u := d.Crossings[1].Account.Uncounted; len(u) != 1 || u[0].Packets != 40 {
		t.Errorf("%+v", u)
	}
	if len(d.Ends) != 2 || d.Ends[0].Hop != 0 || !d.Ends[0].Sends || d.Ends[1].Hop != 3 || d.Ends[1].Sends {
		t.Errorf("%+v", d.Ends)
	}
	// Of those that pa tells it dropped 25: the other 5 are a's, which could not send them. Of a
	// veth whose other end is not in the path none is told.
	if r := d.Crossings[1].Account.Rows[0]; r.Name != "pa rx_dropped" || r.Count != 25 || d.Hops[1].RxDropped != 30 {
		t.Errorf("%+v, %+v", r, d.Hops[1])
	}
	alone := &Path{Hops: p.Hops[:2], Links: []Link{{0, 1, Across, false}}}
	if d := alone.Between(Reading{Hops: from.Hops[:2]}, Reading{AtNs: 2e9, Hops: to.Hops[:2]},
		Seen{}); slices.ContainsFunc(d.Crossings, func(c Crossing) bool {
		return slices.ContainsFunc(c.Account.Rows,
			func(r ledger.Row) bool { return strings.HasSuffix(r.Name, "rx_dropped") })
	}) {
		t.Errorf("%+v", d.Crossings)
	}
	to.Hops[1].RxPackets, from.Hops[1].RxPackets = 5, 6
	again(to)
	again(from)
	if d := p.Between(from, to, Seen{}); !d.Hops[1].Reset || d.Hops[0].Reset {
		t.Errorf("a counter fell: %+v", d.Hops)
	}
	to.Hops[1].RxPackets, to.Hops[1].Again.RxPackets = 9, 8
	if d := p.Between(from, to, Seen{}); !d.Hops[1].Reset {
		t.Errorf("a counter fell while it was read: %+v", d.Hops)
	}
}

// again lets no packet pass while the counters are read.
func again(r Reading) {
	for i := range r.Hops {
		r.Hops[i].Again = r.Hops[i].Stats
	}
}
