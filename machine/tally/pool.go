// SPDX-License-Identifier: MIT

package tally

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/nic"
)

// Pool is one page pool of the interface.
type Pool struct {
	ID            uint64
	Queue         int // the RX queue that it serves; -1: none, or not known
	Inflight      uint64
	InflightBytes uint64
	Counted       bool // Stats were read
	Stats         nic.PoolStats
}

// readPools reads the interface's page pools. They are no counts of the reading: a queue that is
// opened anew has another pool, which begins at 0.
func readPools(r *Reader, x *Reading) ([]measure.Count, error) {
	x.poolsAt = len(x.Counts)
	pools, err := r.dev.PagePools()
	if err != nil {
		return nil, err
	}
	stats, err := r.dev.PoolStats()
	queues, _ := r.dev.Queues() // without them no pool's is known
	for _, p := range pools {
		out := Pool{ID: p.ID, Queue: -1, Inflight: p.Inflight, InflightBytes: p.InflightBytes}
		if q, ok := p.Queue(queues); ok && !p.Detached {
			out.Queue = q
		}
		out.Stats, out.Counted = stats[p.ID]
		x.Pools = append(x.Pools, out)
	}
	return nil, err
}

// poolCounts are the counters of a pool, as Documentation/netlink/specs/netdev.yaml calls them.
var poolCounts = []struct {
	name string
	of   func(*nic.PoolStats) uint64
}{
	{"alloc-fast", func(s *nic.PoolStats) uint64 { return s.Fast }},
	{"alloc-slow", func(s *nic.PoolStats) uint64 { return s.Slow }},
	{"alloc-slow-high-order", func(s *nic.PoolStats) uint64 { return s.HighOrder }},
	{"alloc-empty", func(s *nic.PoolStats) uint64 { return s.Empty }},
	{"alloc-refill", func(s *nic.PoolStats) uint64 { return s.Refill }},
	{"alloc-waive", func(s *nic.PoolStats) uint64 { return s.Waive }},
	{"recycle-cached", func(s *nic.PoolStats) uint64 { return s.Cached }},
	{"recycle-cache-full", func(s *nic.PoolStats) uint64 { return s.CacheFull }},
	{"recycle-ring", func(s *nic.PoolStats) uint64 { return s.Ring }},
	{"recycle-ring-full", func(s *nic.PoolStats) uint64 { return s.RingFull }},
	{"recycle-released-refcnt", func(s *nic.PoolStats) uint64 { return s.Released }},
}

const sourcePool = "netdev page-pool-stats-get"

// poolChanges computes what the pools counted between two readings, summed over the interface and
// per queue. A new pool has counted everything since the first reading. What a pool counted that is
// gone nobody knows, and flag says so.
func poolChanges(from, to []Pool) (out []Change) {
	before := map[uint64]Pool{}
	for _, p := range from {
		before[p.ID] = p
	}
	all, counted := &poolSum{}, false
	by := map[int]*poolSum{}
	order := []*poolSum{all}
	prefixes := map[*poolSum]string{all: ""}
	for _, p := range to {
		b, had := before[p.ID]
		if had && !b.Counted { // what it had counted at first is not known
			p.Stats, p.Counted = nic.PoolStats{}, false
		}
		delete(before, p.ID)
		counted = counted || p.Counted
		sums := []*poolSum{all}
		if p.Queue >= 0 {
			if by[p.Queue] == nil {
				by[p.Queue] = &poolSum{}
				order = append(order, by[p.Queue])
				prefixes[by[p.Queue]] = fmt.Sprintf("rx%d", p.Queue)
			}
			sums = append(sums, by[p.Queue])
		}
		for _, s := range sums {
			s.add(b, p)
		}
	}
	if len(to) == 0 {
		return nil
	}
	flag := ""
	if n := len(before); n > 0 {
		flag = fmt.Sprintf("without the counts of %d page pools that ended in the window", n)
	}
	for _, p := range before {
		all.had(p)
		if s := by[p.Queue]; s != nil {
			s.had(p)
		}
	}
	for _, s := range order {
		out = append(out, s.changes(prefixes[s], flag, counted)...)
	}
	return out
}

// poolSum adds pools up.
type poolSum struct {
	grown, now              [11]uint64
	inflight, inflightBytes [2]uint64 // before, now
}

func (s *poolSum) add(before, now Pool) {
	for i, c := range poolCounts {
		b, n := c.of(&before.Stats), c.of(&now.Stats)
		if n < b { // another pool of that number
			b = 0
		}
		s.grown[i], s.now[i] = s.grown[i]+n-b, s.now[i]+n
	}
	s.had(before)
	s.inflight[1], s.inflightBytes[1] = s.inflight[1]+now.Inflight, s.inflightBytes[1]+now.InflightBytes
}

// had adds what was out at first.
func (s *poolSum) had(before Pool) {
	s.inflight[0], s.inflightBytes[0] = s.inflight[0]+before.Inflight, s.inflightBytes[0]+before.InflightBytes
}

func (s *poolSum) changes(of, flag string, counted bool) (out []Change) {
	name := func(n string) (shown, metric string) {
		if of == "" {
			return n, "page_pool_" + word(n)
		}
		return of + " " + n, "page_pool_" + of + "_" + word(n)
	}
	change := func(n, unit string, kind measure.Kind, v uint64, d int64, flag string) {
		shown, metric := name(n)
		source := sourcePool
		if kind == measure.Gauge {
			source = "netdev page-pool-get"
		}
		out = append(out, Change{Count: measure.Count{Area: pagePool, Name: shown, Metric: metric, Unit: unit,
			Source: source, Kind: kind, Value: v}, Delta: d, Flag: flag})
	}
	for i, c := range poolCounts {
		if counted {
			change(c.name, "1", measure.Counter, s.now[i], int64(s.grown[i]), flag)
		}
	}
	change("inflight", "1", measure.Gauge, s.inflight[1], int64(s.inflight[1]-s.inflight[0]), "")
	change("inflight-mem", "bytes", measure.Gauge, s.inflightBytes[1], int64(s.inflightBytes[1]-s.inflightBytes[0]), "")
	return out
}

// RecycleRate computes the share of the buffers that the interface's page pools handed out which
// they had taken back before: those put into the cache and the ring, over all that were handed out.
// Without figures by netlink it takes the driver's own, where that has those of
// page_pool_ethtool_stats_get (net/core/page_pool.c) or mlx5's: rx_pp_alloc_fast, ...
func (d *Diff) RecycleRate() (measure.Metric, bool) {
	m := measure.Metric{Name: measure.MetricRecycleRate, Unit: "1", Source: sourcePool}
	s, flag, ok := d.poolStats(pagePool, "page_pool_")
	if !ok {
		m.Source = sourceStats
		if s, flag, ok = d.poolStats(ethtool, "ethtool_rx_pp_"); !ok {
			return m, false
		}
	}
	if m.Name = d.called(m.Name); s.Buffers() == 0 {
		return m, false
	}
	m.Value, m.Quality = float64(s.Recycled())/float64(s.Buffers()), flag
	return m, true
}

// poolStats collects the counters of all pools, by the names of an area's rows.
func (d *Diff) poolStats(area, prefix string) (s nic.PoolStats, flag string, ok bool) {
	to := map[string]*uint64{"alloc_fast": &s.Fast, "alloc_slow": &s.Slow, "alloc_slow_high_order": &s.HighOrder,
		"alloc_slow_ho": &s.HighOrder, "alloc_empty": &s.Empty, "alloc_refill": &s.Refill,
		"recycle_cached": &s.Cached, "recycle_ring": &s.Ring}
	found := map[string]bool{}
	for _, c := range d.Changes {
		name, is := strings.CutPrefix(c.Metric, d.called(prefix))
		if c.Area != area || !is || to[name] == nil || c.Delta < 0 {
			continue
		}
		*to[name], found[name] = uint64(c.Delta), true
		flag = cmp.Or(flag, c.Flag)
	}
	return s, flag, found["alloc_fast"] && found["recycle_ring"] && found["recycle_cached"]
}

var poolMetrics = []measure.MetricDoc{
	{Names: "page_pool_NAME page_pool_rxN_NAME", Units: "*",
		Source: "netdev page-pool-stats-get; netdev page-pool-get",
		Meaning: "buffers that the interface's page pools, and those of an RX queue, handed " +
			"out and took back (6.8)"},
	{Names: "page_pool_recycle_rate", Units: "1",
		Source: "netdev page-pool-stats-get; ethtool -S",
		Meaning: "of the buffers that they handed out, how many they took back into cache and " +
			"ring: near 1, recycling works; above 1, more came back than went out"},
}
