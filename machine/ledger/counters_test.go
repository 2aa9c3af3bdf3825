// SPDX-License-Identifier: MIT

package ledger

import (
	"testing"

	"github.com/prometheus/procfs"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/rtnl"
)

func protocols(all map[string]uint64) counter.Netstat {
	n := counter.Netstat{}
	for name, v := range all {
		n[name] = counter.NetstatValue{Value: v}
	}
	return n
}

func outermost(kind string, handle, drops uint32) map[int]rtnl.Qdisc {
	return map[int]rtnl.Qdisc{2: {Kind: kind, Handle: handle, Drops: drops}}
}

func counts(lines []Counted) map[string]uint64 {
	n := map[string]uint64{}
	for _, l := range lines {
		if l.Count > 0 {
			n[l.Name] += l.Count
		}
	}
	return n
}

// No packet is in two lines, whatever counts it besides.
func TestBetween(t *testing.T) {
	link := func(s rtnl.Stats) []rtnl.Link { return []rtnl.Link{{Index: 2, Name: "veth0", Stats: &s}} }
	for _, x := range []struct {
		name          string
		before, after Counters
		want          map[string]uint64
	}{
		{"nothing", Counters{}, Counters{}, map[string]uint64{}},
		{"a full receive buffer is an error, too",
			Counters{protocols: protocols(map[string]uint64{"UdpRcvbufErrors": 5, "UdpInErrors": 6})},
			Counters{protocols: protocols(map[string]uint64{"UdpRcvbufErrors": 105, "UdpInErrors": 109,
				"UdpInCsumErrors": 1})},
			map[string]uint64{"udp_rcvbuf_errors": 100, "udp_csum_errors": 1, "udp_in_errors": 2}},
		{"both address families", Counters{},
			Counters{protocols: protocols(map[string]uint64{"UdpNoPorts": 3, "Udp6NoPorts": 4})},
			map[string]uint64{"udp_no_ports": 7}},
		{"the socket is told what the qdisc drops",
			Counters{qdiscs: outermost("tbf", 1, 50)},
			Counters{qdiscs: outermost("tbf", 1, 150),
				protocols: protocols(map[string]uint64{"UdpSndbufErrors": 100})},
			map[string]uint64{"qdisc_drops": 100}},
		{"and what is dropped at tc egress",
			Counters{qdiscs: outermost("tbf", 1, 50)},
			Counters{qdiscs: outermost("tbf", 1, 60),
				protocols: protocols(map[string]uint64{"UdpSndbufErrors": 25})},
			map[string]uint64{"qdisc_drops": 10, "udp_sndbuf_errors": 15}},
		{"and what an interface without a queue refuses",
			Counters{links: link(rtnl.Stats{TxDropped: 1})},
			Counters{links: link(rtnl.Stats{TxDropped: 31}), qdiscs: outermost("noqueue", 0, 0),
				protocols: protocols(map[string]uint64{"UdpSndbufErrors": 30})},
			map[string]uint64{"tx_dropped": 30}},
		{"but not what one behind a queue does",
			Counters{links: link(rtnl.Stats{TxDropped: 1}), qdiscs: outermost("fq", 1, 0)},
			Counters{links: link(rtnl.Stats{TxDropped: 31}), qdiscs: outermost("fq", 1, 0),
				protocols: protocols(map[string]uint64{"UdpSndbufErrors": 5})},
			map[string]uint64{"tx_dropped": 30, "udp_sndbuf_errors": 5}},
		{"a qdisc that took another's place", Counters{qdiscs: outermost("tbf", 1, 50)},
			Counters{qdiscs: outermost("fq", 2, 7)},
			map[string]uint64{"qdisc_drops": 7}},
		{"its counter has 32 bits", Counters{qdiscs: outermost("tbf", 1, 1<<32-1)},
			Counters{qdiscs: outermost("tbf", 1, 4)},
			map[string]uint64{"qdisc_drops": 5}},
		{"the backlog is the interface's, too",
			Counters{links: link(rtnl.Stats{RxDropped: 1}), softnet: []procfs.SoftnetStat{{Index: 1, Dropped: 9}}},
			Counters{links: link(rtnl.Stats{RxDropped: 31, RxMissedErrors: 2}),
				softnet: []procfs.SoftnetStat{{Index: 1, Dropped: 29}}},
			map[string]uint64{"softnet_dropped": 20, "rx_dropped": 10, "rx_missed": 2}},
		{"the backlog of another namespace",
			Counters{softnet: []procfs.SoftnetStat{{Index: 1, Dropped: 9}}},
			Counters{softnet: []procfs.SoftnetStat{{Index: 1, Dropped: 29}}}, map[string]uint64{}},
		{"a counter that was reset", Counters{protocols: protocols(map[string]uint64{"UdpNoPorts": 30})},
			Counters{protocols: protocols(map[string]uint64{"UdpNoPorts": 4})},
			map[string]uint64{}},
		{"an interface that was made meanwhile", Counters{}, Counters{links: link(rtnl.Stats{TxDropped: 3})},
			map[string]uint64{"tx_dropped": 3}},
	} {
		t.Run(x.name, func(t *testing.T) {
			got := counts(Between(x.before, x.after))
			for name, n := range x.want {
				if got[name] != n {
					t.Errorf("%s: %d, want %d", name, got[name], n)
				}
				delete(got, name)
			}
			if len(got) > 0 {
				t.Errorf("and %v", got)
			}
		})
	}
}

// What veths count as dropped may be the other end's; other interfaces' is not.
func TestRefused(t *testing.T) {
	end := func(kind string, s rtnl.Stats) Counters {
		return Counters{links: []rtnl.Link{{Index: 2, Name: "a", Kind: kind, Stats: &s}}}
	}
	for kind, want := range map[string]uint64{"veth": 45, "": 0} {
		if n := Refused(end(kind, rtnl.Stats{TxDropped: 1}),
			end(kind, rtnl.Stats{TxDropped: 44, TxErrors: 2})); n != want {
			t.Errorf("%q: %d, want %d", kind, n, want)
		}
	}
}

func TestIngress(t *testing.T) {
	at := func(rx, dropped, ip uint64, softnet uint32) Counters {
		return Counters{links: []rtnl.Link{{Index: 2, Name: "veth0", Stats: &rtnl.Stats{RxPackets: rx,
			RxDropped: dropped}}},
			protocols: protocols(map[string]uint64{"IpInReceives": ip}),
			softnet:   []procfs.SoftnetStat{{Dropped: softnet}}}
	}
	if c := Ingress(at(10, 0, 10, 0), at(1010, 0, 310, 0)); c.Count != 700 {
		t.Errorf("%+v", c)
	}
	if c := Ingress(at(0, 0, 0, 0), at(1000, 100, 900, 100)); c.Count != 0 {
		t.Errorf("what the backlog dropped did not come to tc: %+v", c)
	}
	if c := Ingress(at(0, 0, 0, 0), at(10, 0, 900, 0)); c.Count != 0 {
		t.Errorf("more at IP than came: %+v", c)
	}
}

// The running kernel's counters are there, and nothing has two lines of a name.
func TestRead(t *testing.T) {
	c, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	if len(c.links) == 0 || len(c.protocols) == 0 || len(c.softnet) == 0 {
		t.Errorf("%d links, %d protocol counters, %d CPUs", len(c.links), len(c.protocols), len(c.softnet))
	}
	seen := map[string]bool{}
	for _, l := range Between(c, c) {
		if l.Count != 0 || seen[l.Name] || l.Source == "" {
			t.Errorf("%+v", l)
		}
		seen[l.Name] = true
	}
}
