// SPDX-License-Identifier: MIT

package tally

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
)

func (x *Reading) addStats(stats []nic.Stat) { x.take(ethtool, statCounts(stats), nil) }

func (x *Reading) addQdiscs(qs []rtnl.Qdisc) {
	counts, err := qdiscCounts(qs)
	x.take("qdisc", counts, err)
}

// reading makes one of counters in the order of their names.
func reading(atNs int64, counts ...measure.Count) *Reading {
	x := &Reading{AtNs: atNs, names: map[string]bool{}}
	for _, c := range counts {
		x.add(c)
	}
	return x
}

func TestBetween(t *testing.T) {
	count := func(name string, k measure.Kind, v uint64) measure.Count {
		return measure.Count{Area: ethtool, Metric: name, Kind: k, Value: v}
	}
	from := reading(1e9, count("grew", measure.Counter, 10), count("wrapped", measure.Counter32, math.MaxUint32-1),
		count("idle", measure.Counter, 7), count("level", measure.Gauge, 10),
		count("reset", measure.Counter, 1000), count("wrapped64", measure.Counter, math.MaxUint32-4),
		count("jumped", measure.Counter, 1),
		count("gone", measure.Counter, 3))
	to := reading(3e9, count("grew", measure.Counter, 1<<40), count("wrapped", measure.Counter32, 3),
		count("idle", measure.Counter, 7),
		count("level", measure.Gauge, 4),
		count("reset", measure.Counter, 1), count("wrapped64", measure.Counter, 5), count("jumped", measure.Counter,
			math.MaxUint64),
		count("new", measure.Counter, 3),
		measure.Count{Area: Netstat, Metric: "first", Value: 2})
	d := Between(from, to)
	type got struct {
		Delta int64
		Flag  string
	}
	all := map[string]got{}
	for _, c := range d.Changes {
		all[c.Metric] = got{c.Delta, c.Flag}
	}
	want := map[string]got{"grew": {1<<40 - 10, ""}, "wrapped": {5, ""}, "idle": {0, ""}, "level": {-6, ""},
		"first": {2, ""},
		"reset": {-999, "the counter fell: it was reset in the window"}, "wrapped64": {10, "wrapped at 32 bits"},
		"jumped": {-2, "the counter jumped: not used"}}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if d.Seconds != 2 || d.Gone != 1 || d.New != 1 {
		t.Errorf("%v s, %d gone, %d new", d.Seconds, d.Gone, d.New)
	}
	if d := Between(nil, to); len(d.Changes) > 0 || d.Seconds != 0 {
		t.Errorf("%+v", d)
	}
}

// A counter that did not move is named and has no row; rates are of the interval and of the
// packets of the end's way; a level is what it is at the end.
func TestRows(t *testing.T) {
	link := func(rx, tx uint64) *rtnl.Link {
		return &rtnl.Link{Index: 3, Stats: &rtnl.Stats{RxPackets: rx, TxPackets: tx}}
	}
	counts := func(moved, level uint64) []measure.Count {
		return []measure.Count{{Metric: "moved", Unit: "1", Source: "s", Value: moved}, {Metric: "still", Value: 5},
			{Metric: "level", Kind: measure.Gauge, Value: level}, {Metric: "nothing", Kind: measure.Gauge}}
	}
	from, to := reading(0, counts(10, 7)...), reading(5e8, counts(110, 7)...)
	from.Link, to.Link = link(1000, 0), link(1000+200, 50)
	d := Between(from, to)
	for sends, perPacket := range map[bool]float64{false: 100. / 200, true: 100. / 50} {
		rows, idle, warnings := d.Rows(sends)
		want := []measure.Metric{{Name: "moved", Unit: "1", Source: "s", Value: 100, PerSecond: new(200.),
			PerPacket: &perPacket}, {Name: "level", Value: 7}}
		if diff := cmp.Diff(want, rows); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"still", "nothing"}, idle); diff != "" || warnings != nil {
			t.Errorf("%s %v", diff, warnings)
		}
	}
	to.Link = nil
	d = Between(from, to)
	if rows, _, _ := d.Rows(true); rows[0].PerPacket != nil || rows[0].PerSecond == nil {
		t.Errorf("%+v", rows[0])
	}
}

// However many counters a driver has, a run has so many rows, and says how many it lacks.
func TestRowsAreBounded(t *testing.T) {
	from, to := reading(0), reading(1e9)
	for i := range mostRows + 100 {
		from.add(measure.Count{Metric: fmt.Sprint("m", i)})
		to.add(measure.Count{Metric: fmt.Sprint("m", i), Value: 1})
	}
	d := Between(from, to)
	rows, idle, warnings := d.Rows(false)
	last := rows[len(rows)-1]
	if len(rows) != mostRows+1 || last.Name != measure.MetricCountersCut || last.Value != 100 || len(idle) != 0 {
		t.Errorf("%d rows, last %+v; %d idle", len(rows), last, len(idle))
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "100 more counters") {
		t.Errorf("%q", warnings)
	}
}

func TestPools(t *testing.T) {
	pool := func(id uint64, queue int, inflight uint64, s nic.PoolStats) Pool {
		return Pool{ID: id, Queue: queue, Inflight: inflight, InflightBytes: inflight << 12, Counted: true, Stats: s}
	}
	from, to := reading(0), reading(1e9)
	from.Pools = []Pool{pool(1, 0, 10, nic.PoolStats{Fast: 100, Slow: 50, Ring: 20}),
		pool(2, 1, 10, nic.PoolStats{Fast: 1000})}
	to.Pools = []Pool{pool(1, 0, 12, nic.PoolStats{Fast: 700, Slow: 60, Empty: 10, Refill: 10, Ring: 300, Cached: 250,
		RingFull: 1}),
		// queue 1 was opened anew, with a memory provider
		pool(3, 1, 64, nic.PoolStats{Fast: 30, Empty: 10, Cached: 8})}
	d := Between(from, to)
	deltas := map[string]int64{}
	for _, c := range d.Changes {
		if c.Delta != 0 {
			deltas[c.Metric] = c.Delta
		}
		if ended := strings.Contains(c.Flag, "1 page pools"); ended != (c.Kind == measure.Counter) {
			t.Errorf("%s: flag %q", c.Metric, c.Flag)
		}
	}
	want := map[string]int64{"page_pool_alloc_fast": 630, "page_pool_alloc_slow": 10, "page_pool_alloc_empty": 20,
		"page_pool_alloc_refill": 10, "page_pool_recycle_ring": 280,
		"page_pool_recycle_cached": 258, "page_pool_recycle_ring_full": 1, "page_pool_inflight": 56,
		"page_pool_inflight_mem":   56 << 12,
		"page_pool_rx0_alloc_fast": 600, "page_pool_rx0_alloc_slow": 10, "page_pool_rx0_alloc_empty": 10,
		"page_pool_rx0_alloc_refill": 10, "page_pool_rx0_recycle_ring": 280,
		"page_pool_rx0_recycle_cached": 250, "page_pool_rx0_recycle_ring_full": 1, "page_pool_rx0_inflight": 2,
		"page_pool_rx0_inflight_mem": 2 << 12,
		"page_pool_rx1_alloc_fast":   30, "page_pool_rx1_alloc_empty": 10, "page_pool_rx1_recycle_cached": 8,
		"page_pool_rx1_inflight": 54, "page_pool_rx1_inflight_mem": 54 << 12}
	if diff := cmp.Diff(want, deltas); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// 258 + 280 taken back, of 630 + 10 + 20: what is slow is behind a vain look, and the
	// provider's are counted by that alone.
	if m, ok := d.RecycleRate(); !ok || m.Value != 538./660 || m.Quality == "" || m.Source != sourcePool {
		t.Errorf("%+v, %v", m, ok)
	}
}

// Where netlink does not tell, mlx5's own counters do; where none does, there is no figure.
func TestRecycleRateOfDriver(t *testing.T) {
	stats := func(fast, ring uint64) *Reading {
		x := reading(int64(fast))
		x.addStats([]nic.Stat{{Name: "rx_pp_alloc_fast", Value: fast}, {Name: "rx_pp_alloc_slow", Value: 5},
			{Name: "rx0_pp_alloc_fast", Value: fast},
			{Name: "rx_pp_recycle_ring", Value: ring}, {Name: "rx_pp_recycle_cached", Value: 7}})
		return x
	}
	d := Between(stats(100, 0), stats(200, 99))
	if m, ok := d.RecycleRate(); !ok || m.Value != .99 || m.Source != sourceStats || m.Quality != "" {
		t.Errorf("%+v, %v", m, ok)
	}
	for _, none := range []Diff{{}, Between(stats(100, 0), stats(100, 0)),
		Between(reading(0, measure.Count{Metric: "x"}),
			reading(1, measure.Count{Metric: "x"}))} {
		if m, ok := none.RecycleRate(); ok {
			t.Errorf("%+v", m)
		}
	}
}

var safe = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// A driver's names may be anything: the rows' are not, and no two are the same.
func TestHostileNames(t *testing.T) {
	x := reading(0)
	x.addStats([]nic.Stat{{Name: "\x1b]0;rx\x07bytes"}, {Name: "[0]: rx_ucast_packets"}, {Name: "rx-0.packets"},
		{Name: "rx_0_packets"}, {Name: "rx 0 packets"}, {Name: ""},
		{Name: "\xff\xfe"}, {Name: strings.Repeat("é", 40)}, {Name: strings.Repeat("A", 200)}, {Name: "tx_pkts_0"}})
	x.addQdiscs([]rtnl.Qdisc{{Kind: "fq\n\x1b[2J", Parent: rtnl.QdiscRoot}, {Kind: "", Parent: rtnl.QdiscRoot}})
	seen := map[string]bool{}
	for _, c := range x.Counts {
		if !safe.MatchString(c.Metric) || seen[c.Metric] || len(c.Metric) > 120 {
			t.Errorf("%q is called %q", c.Name, c.Metric)
		}
		seen[c.Metric] = true
	}
	for _, want := range []string{"ethtool_0_rx_bytes", "ethtool_0_rx_ucast_packets", "ethtool_rx_0_packets",
		"ethtool_rx_0_packets_2", "ethtool_rx_0_packets_3", "ethtool_unnamed",
		"ethtool_unnamed_2", "ethtool_unnamed_3", "ethtool_" + strings.Repeat("a", mostWord), "qdisc_root_fq_2j_drops",
		"qdisc_root_unnamed_drops"} {
		if !seen[want] {
			t.Errorf("no %s", want)
		}
	}
	for name, unit := range map[string]string{"ethtool_0_rx_bytes": "bytes", "ethtool_tx_pkts_0": "packets",
		"ethtool_unnamed": "1"} {
		if i := slices.IndexFunc(x.Counts, func(c measure.Count) bool { return c.Metric == name }); i < 0 ||
			x.Counts[i].Unit != unit {
			t.Errorf("%s is not in %s", name, unit)
		}
	}
}

func FuzzNames(f *testing.F) {
	f.Add("rx_bytes\nrx-bytes\n\x1b[2J")
	f.Fuzz(func(t *testing.T, text string) {
		x := reading(0)
		var stats []nic.Stat
		for name := range strings.SplitSeq(text, "\n") {
			stats = append(stats, nic.Stat{Name: name})
		}
		x.addStats(stats[:min(len(stats), 100)])
		seen := map[string]bool{}
		for _, c := range x.Counts {
			if !safe.MatchString(c.Metric) || seen[c.Metric] {
				t.Fatalf("%q is called %q", c.Name, c.Metric)
			}
			seen[c.Metric] = true
			if err := described.CheckRow(c.Metric, c.Unit, c.Source); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestQueuesAndQdiscs(t *testing.T) {
	x := reading(0)
	x.take(queue, queueCounts([]nic.QStat{{Queue: -1, Values: []nic.QValue{{Name: "rx-packets", Value: 1},
		{Name: "tx-bytes", Value: 2}}},
		{Queue: 3, RX: true, Values: []nic.QValue{{Name: "rx-hw-drops", Value: 3}, {Name: "rx-alloc-fail", Value: 4}}},
		{Queue: 0, Values: []nic.QValue{{Name: "tx-stop", Value: 5}}}}), nil)
	x.addQdiscs([]rtnl.Qdisc{{Kind: "mq", Handle: 0x80010000, Parent: rtnl.QdiscRoot, Drops: 6},
		{Kind: "fq", Handle: 0x80020000, Parent: 0x8001000a, Requeues: 7},
		{Kind: "netem", Handle: 0x80030000, Parent: 0x00110001, Backlog: 8}, {Kind: "clsact", Handle: 0xffff0000,
			Parent: rtnl.QdiscIngress, Overlimits: 9}})
	got := map[string]string{}
	for _, c := range x.Counts {
		if c.Value > 0 {
			got[c.Metric] = fmt.Sprintf("%s %d %s %d", c.Name, c.Value, c.Unit, c.Kind)
		}
		if err := described.CheckRow(c.Metric, c.Unit, c.Source); err != nil {
			t.Error(err)
		}
	}
	want := map[string]string{"qstats_rx_packets": "rx-packets 1 packets 0", "qstats_tx_bytes": "tx-bytes 2 bytes 0",
		"qstats_rx3_hw_drops":   "rx3 hw-drops 3 packets 0",
		"qstats_rx3_alloc_fail": "rx3 alloc-fail 4 1 0", "qstats_tx0_stop": "tx0 stop 5 1 0",
		"qdisc_root_mq_drops":  "root mq drops 6 packets 1",
		"qdisc_10_fq_requeues": "10 fq requeues 7 1 1", "qdisc_11_1_netem_backlog": "11:1 netem backlog 8 bytes 2",
		"qdisc_ingress_clsact_overlimits": "ingress clsact overlimits 9 1 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	none := reading(0)
	if none.addQdiscs([]rtnl.Qdisc{{Kind: "noqueue", Parent: rtnl.QdiscRoot}}); len(none.Counts) != 0 {
		t.Errorf("noqueue counts %v", none.Counts)
	}
	many := reading(0)
	many.addQdiscs(make([]rtnl.Qdisc, mostQdiscs+1))
	if len(many.Gaps) != 1 || many.Gaps[0].Lacking() || len(many.Counts) != 7*mostQdiscs {
		t.Errorf("%d counts, %v", len(many.Counts), many.Gaps)
	}
}
