// SPDX-License-Identifier: MIT

package counter

import (
	"fmt"

	"github.com/zcbench/zcbench/machine/measure"

	"github.com/zcbench/zcbench/machine/rtnl"
)

// ReadLink reads an interface of the calling thread's network namespace, with its counters, by
// rtnetlink (IFLA_STATS64; net/core/rtnetlink.c, rtnl_fill_ifinfo).
func ReadLink(name string) (*rtnl.Link, error) {
	l, err := rtnl.LinkNamed(name)
	if err != nil {
		return nil, fmt.Errorf("read interface %s: %w: name one that `ip link` shows here", name, err)
	}
	if l.Stats == nil {
		return nil, fmt.Errorf("read interface %s: the kernel sent no statistics", name)
	}
	return &l, nil
}

const linkSource = "rtnetlink"

// LinkCounts lists the counters of an interface.
func LinkCounts(l *rtnl.Link) (out []measure.Count) {
	for _, k := range countersOf(l.Stats) {
		out = append(out, measure.Count{Name: k.name, Metric: "link_" + k.name, Unit: k.unit, Source: linkSource,
			Value: k.of(l.Stats)})
	}
	return out
}

// Packets counts what an interface received, or sent, between two readings; 0: it is not known.
func Packets(before, after *rtnl.Link, sent bool) float64 {
	if before == nil || after == nil || before.Index != after.Index {
		return 0
	}
	b, a := before.Stats.RxPackets, after.Stats.RxPackets
	if sent {
		b, a = before.Stats.TxPackets, after.Stats.TxPackets
	}
	d, _ := since(b, a)
	return float64(d)
}

// countersOf selects the counters that this kernel has: all, or all but the last.
func countersOf(s *rtnl.Stats) []linkCounter {
	if s.CountsOtherhost() {
		return linkCounters
	}
	return linkCounters[:len(linkCounters)-1]
}

type linkCounter struct {
	name, unit string
	of         func(*rtnl.Stats) uint64
	always     bool // also when nothing was counted
}

// linkCounters names the counters that Delta reports: all of struct rtnl_link_stats64.
var linkCounters = []linkCounter{
	{"rx_bytes", "bytes", func(s *rtnl.Stats) uint64 { return s.RxBytes }, true},
	{"tx_bytes", "bytes", func(s *rtnl.Stats) uint64 { return s.TxBytes }, true},
	{"rx_packets", "packets", func(s *rtnl.Stats) uint64 { return s.RxPackets }, true},
	{"tx_packets", "packets", func(s *rtnl.Stats) uint64 { return s.TxPackets }, true},
	{"rx_dropped", "packets", func(s *rtnl.Stats) uint64 { return s.RxDropped }, true},
	{"tx_dropped", "packets", func(s *rtnl.Stats) uint64 { return s.TxDropped }, true},
	{"rx_missed_errors", "packets", func(s *rtnl.Stats) uint64 { return s.RxMissedErrors }, true},
	{"rx_errors", "packets", func(s *rtnl.Stats) uint64 { return s.RxErrors }, false},
	{"tx_errors", "packets", func(s *rtnl.Stats) uint64 { return s.TxErrors }, false},
	{"rx_length_errors", "packets", func(s *rtnl.Stats) uint64 { return s.RxLengthErrors }, false},
	{"rx_over_errors", "packets", func(s *rtnl.Stats) uint64 { return s.RxOverErrors }, false},
	{"rx_crc_errors", "packets", func(s *rtnl.Stats) uint64 { return s.RxCrcErrors }, false},
	{"rx_frame_errors", "packets", func(s *rtnl.Stats) uint64 { return s.RxFrameErrors }, false},
	{"rx_fifo_errors", "packets", func(s *rtnl.Stats) uint64 { return s.RxFifoErrors }, false},
	{"tx_aborted_errors", "packets", func(s *rtnl.Stats) uint64 { return s.TxAbortedErrors }, false},
	{"tx_carrier_errors", "packets", func(s *rtnl.Stats) uint64 { return s.TxCarrierErrors }, false},
	{"tx_fifo_errors", "packets", func(s *rtnl.Stats) uint64 { return s.TxFifoErrors }, false},
	{"collisions", "packets", func(s *rtnl.Stats) uint64 { return s.Collisions }, false},
	{"multicast", "packets", func(s *rtnl.Stats) uint64 { return s.Multicast }, false},
	{"tx_heartbeat_errors", "packets", func(s *rtnl.Stats) uint64 { return s.TxHeartbeatErrors }, false},
	{"tx_window_errors", "packets", func(s *rtnl.Stats) uint64 { return s.TxWindowErrs }, false},
	{"rx_compressed", "packets", func(s *rtnl.Stats) uint64 { return s.RxCompressed }, false},
	{"tx_compressed", "packets", func(s *rtnl.Stats) uint64 { return s.TxCompressed }, false},
	{"rx_nohandler", "packets", func(s *rtnl.Stats) uint64 { return s.RxNohandler }, false},
	{"rx_otherhost_dropped", "packets", func(s *rtnl.Stats) uint64 { return s.RxOtherhostDropped }, false},
}

// addLink reports the interface's counters and the settings at the end of the
// window; a setting that changed in it is a warning.
func (c *Change) addLink(r *rows, b, a *rtnl.Link) {
	if b == nil || a == nil {
		return
	}
	if b.Index != a.Index {
		c.Warnings = append(c.Warnings, fmt.Sprintf("not measured: interface %s was replaced in the window", a.Name))
		return
	}
	for _, k := range countersOf(a.Stats) {
		switch d, fell := since(k.of(b.Stats), k.of(a.Stats)); {
		case fell:
			c.Warnings = append(c.Warnings,
				fmt.Sprintf("not measured: %s of interface %s fell: it was reset in the window", k.name, a.Name))
		case k.always:
			r.count("link_"+k.name, k.unit, float64(d), linkSource, "")
		default:
			r.moved("link_"+k.name, k.unit, float64(d), linkSource)
		}
	}
	r.linkSettings(a)
	if b.MTU != a.MTU || settings(b) != settings(a) {
		c.Warnings = append(c.Warnings, fmt.Sprintf("settings of interface %s changed in the window", a.Name))
	}
	if n, ok := linkDrops(b, a); ok {
		c.rxDrops = &n
	}
}

// addLinks reports the counters of several interfaces: each one's by its place among them, and what
// all have together as that of the only one.
func (c *Change) addLinks(r *rows, before, after Snapshot) {
	b, a := append([]*rtnl.Link{before.Link}, before.More...), append([]*rtnl.Link{after.Link}, after.More...)
	var drops uint64
	known := true
	for i := range a {
		c.rxDrops = nil
		own := rows{seconds: r.seconds, packets: Packets(b[i], a[i], after.Config.Sends)}
		c.addLink(&own, b[i], a[i])
		for _, m := range own.out {
			m.Name = measure.DevMetric(i, m.Name)
			r.out = append(r.out, m)
		}
		for _, name := range own.idle {
			r.idle = append(r.idle, measure.DevMetric(i, name))
		}
		if known = known && c.rxDrops != nil; known {
			drops += *c.rxDrops
		}
	}
	c.rxDrops = nil
	if known { // all were read, and none was reset
		c.rxDrops = &drops
		r.linksTogether(b, a)
	}
}

// linksTogether adds interfaces up, and says how they were set where that was the same.
func (r *rows) linksTogether(b, a []*rtnl.Link) {
	for _, k := range linkCounters {
		sum, ok := uint64(0), true
		for i := range a {
			d, fell := since(k.of(b[i].Stats), k.of(a[i].Stats))
			sum, ok = sum+d, ok && !fell
		}
		switch {
		case !ok:
		case k.always:
			r.count("link_"+k.name, k.unit, float64(sum), linkSource, "")
		default:
			r.moved("link_"+k.name, k.unit, float64(sum), linkSource)
		}
	}
	for _, x := range a {
		if x.MTU != a[0].MTU || settings(x) != settings(a[0]) {
			return
		}
	}
	r.linkSettings(a[0])
}

// linkDrops counts the packets that an interface dropped.
func linkDrops(b, a *rtnl.Link) (n uint64, ok bool) {
	dropped, fell := since(b.Stats.RxDropped, a.Stats.RxDropped)
	missed, missedFell := since(b.Stats.RxMissedErrors, a.Stats.RxMissedErrors)
	return dropped + missed, b.Index == a.Index && !fell && !missedFell
}

// addLinkOfAll is of a window in which several had turns, and of an interface whose counters are up
// to a second late: if it dropped nothing in the window, it did not in their turns either. Whose
// turn it was otherwise is not known, and the figures of all are told.
func (c *Change) addLinkOfAll(r *rows, b, a *rtnl.Link) {
	if b == nil || a == nil {
		return
	}
	r.linkSettings(a)
	switch n, ok := linkDrops(b, a); {
	case !ok:
	case n == 0:
		c.rxDrops = &n
	default:
		r.add(measure.MetricAllTurnsDropped, "packets", float64(n), linkSource, "")
		if bytes, fell := since(b.Stats.RxBytes, a.Stats.RxBytes); !fell {
			r.add(measure.MetricAllTurnsBytes, "bytes", float64(bytes), linkSource, "")
		}
		c.Warnings = append(c.Warnings, fmt.Sprintf("interface %s dropped %d packets in the window of all that took "+
			"turns: in whose turns is not known, since its driver counts late (order: blocks tells)", a.Name, n))
	}
}

func (r *rows) linkSettings(l *rtnl.Link) {
	r.add("link_mtu", "bytes", float64(l.MTU), linkSource, "")
	for _, s := range settings(l) {
		if s.value != 0 {
			r.add("link_"+s.name, "bytes", float64(s.value), linkSource, "")
		}
	}
}

type linkSetting struct {
	name  string
	value int
}

func settings(l *rtnl.Link) [5]linkSetting {
	return [...]linkSetting{
		{"gso_max_size", l.GSOMaxSize}, {"gro_max_size", l.GROMaxSize},
		{"gso_ipv4_max_size", l.GSOIPv4MaxSize}, {"gro_ipv4_max_size", l.GROIPv4MaxSize},
		{"tso_max_size", l.TSOMaxSize},
	}
}

// LinkMetrics describe the counters of an interface.
var LinkMetrics = []measure.MetricDoc{
	{Names: "link_rx_bytes link_rx_packets link_rx_dropped link_rx_missed_errors " +
		"link_tx_bytes link_tx_packets link_tx_dropped",
		Units: "bytes packets packets packets bytes packets packets", Source: "rtnetlink",
		Meaning: "of the interface; a counter that was reset in the window is absent, and a " +
			"warning"},
	{Names: measure.MetricAllTurnsDropped + " " + measure.MetricAllTurnsBytes, Units: "packets bytes",
		Source: "rtnetlink",
		Meaning: "of a run in turns, where the interface dropped packets and its driver counts late: what it dropped " +
			"and received in the window of all that took turns (docs/turns.md)"},
	{Names: "link_NAME", Units: "packets", Source: "rtnetlink",
		Meaning: "errors and what else is rarely counted, where it moved"},
}

// LinkSettingMetrics describe how an interface was set.
var LinkSettingMetrics = []measure.MetricDoc{
	{Names: "link_mtu link_gro_max_size link_gro_ipv4_max_size link_gso_max_size " +
		"link_gso_ipv4_max_size link_tso_max_size",
		Units: "bytes", Source: "rtnetlink",
		Meaning: "how it was set"},
}
