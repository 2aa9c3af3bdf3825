// SPDX-License-Identifier: MIT

package counter

import (
	"fmt"

	"github.com/zcbench/zcbench/machine/measure"

	"github.com/zcbench/zcbench/machine/rtnl"
)

// LinkStats is one network interface: its counters since it was made and the
// settings that bear on a run.
type LinkStats struct {
	Name  string
	Index int
	MTU   int // bytes

	GSOMaxSize, GROMaxSize         uint32 // bytes; 0 is not reported
	GSOIPv4MaxSize, GROIPv4MaxSize uint32 // bytes; 0 is not reported
	TSOMaxSize                     uint32 // bytes

	Counters rtnl.Stats
}

// ReadLink reads an interface of the calling thread's network namespace by
// rtnetlink (IFLA_STATS64; net/core/rtnetlink.c, rtnl_fill_ifinfo).
func ReadLink(name string) (LinkStats, error) {
	l, err := rtnl.LinkNamed(name)
	if err != nil {
		return LinkStats{}, fmt.Errorf("read interface %s: %w: name one that `ip link` shows here", name, err)
	}
	if l.Stats == nil {
		return LinkStats{}, fmt.Errorf("read interface %s: the kernel sent no statistics", name)
	}
	return LinkStats{
		Name: l.Name, Index: l.Index, MTU: l.MTU,
		GSOMaxSize: uint32(l.GSOMaxSize), GROMaxSize: uint32(l.GROMaxSize),
		GSOIPv4MaxSize: uint32(l.GSOIPv4MaxSize), GROIPv4MaxSize: uint32(l.GROIPv4MaxSize),
		TSOMaxSize: uint32(l.TSOMaxSize), Counters: *l.Stats,
	}, nil
}

// linkCount is one counter of an interface.
type linkCount struct {
	Name, Unit string
	Value      uint64
}

// Counts lists the counters by name.
func (l *LinkStats) Counts() (out []linkCount) {
	for _, k := range countersOf(&l.Counters) {
		out = append(out, linkCount{k.name, k.unit, k.of(&l.Counters)})
	}
	return out
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

// LinkMetrics describe the counters of an interface.
var LinkMetrics = []measure.MetricDoc{
	{Names: "link_rx_bytes link_rx_packets link_rx_dropped link_rx_missed_errors " +
		"link_tx_bytes link_tx_packets link_tx_dropped",
		Units: "bytes packets packets packets bytes packets packets", Source: "rtnetlink",
		Meaning: "of the interface; a counter that was reset in the window is absent, and a " +
			"warning"},
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
