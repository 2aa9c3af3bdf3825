// SPDX-License-Identifier: MIT

package nicqueue

import (
	"slices"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/nic"
)

// wants is what was counted of a queue that may lack buffers: by its page pools, and by its driver.
type wants struct {
	pools  nic.PoolStats
	pooled bool
	driver []nic.QValue
}

// wants reads what has been counted; what nobody counts is not there.
func (q *Queue) wants() (w wants) {
	if own, ok := q.ownPools(); ok && slices.Equal(ids(own), q.pools) {
		all, err := q.Dev.PoolStats()
		w.pooled = err == nil
		for _, p := range own {
			s, ok := all[p.ID]
			w.pooled = w.pooled && ok
			w.pools.Empty, w.pools.Slow = w.pools.Empty+s.Empty, w.pools.Slow+s.Slow+s.HighOrder
			w.pools.CacheFull, w.pools.RingFull = w.pools.CacheFull+s.CacheFull, w.pools.RingFull+s.RingFull
		}
	}
	all, err := q.Dev.QStats(true)
	i := slices.IndexFunc(all, func(s nic.QStat) bool { return s.RX && s.Queue == q.ID })
	if err == nil && i >= 0 {
		w.driver = all[i].Values
	}
	return w
}

// of looks up what the driver counts by a name of netdev.yaml.
func (w *wants) of(name string) (n uint64, ok bool) {
	for _, v := range w.driver {
		if v.Name == name {
			return v.Value, true
		}
	}
	return 0, false
}

// Shortage tells how the queue fared for buffers, of bufLen bytes each, since its memory was bound:
// what fills its ring once, and what pools and driver counted. What is not counted is left out.
func (q *Queue) Shortage(bufLen int) (out []stream.Figure) {
	add := func(name, unit string, n uint64) {
		out = append(out, stream.Figure{Name: name, Unit: unit, Value: float64(n)})
	}
	if ring, err := q.Dev.PayloadRing(bufLen); err == nil && ring.Buffers > 0 {
		add("queue_ring_bytes", "bytes", uint64(ring.Buffers)*uint64(bufLen))
	}
	now := q.wants()
	if was := &q.wanted.pools; now.pooled && q.wanted.pooled {
		add("queue_pool_empty", "1", now.pools.Empty-was.Empty)
		add("queue_pool_slow", "1", now.pools.Slow-was.Slow)
		add("queue_pool_cache_full", "1", now.pools.CacheFull-was.CacheFull)
		add("queue_pool_ring_full", "1", now.pools.RingFull-was.RingFull)
	}
	for _, c := range [][2]string{{"queue_alloc_fail", "rx-alloc-fail"}, {"queue_drops", "rx-hw-drops"}} {
		n, ok := now.of(c[1])
		was, had := q.wanted.of(c[1])
		if ok && had && n >= was {
			add(c[0], map[bool]string{true: "packets", false: "1"}[c[0] == "queue_drops"], n-was)
		}
	}
	return out
}

// Metrics describe how a queue that is taken over fared for buffers.
var Metrics = []measure.MetricDoc{
	{Names: "queue_ring_bytes",
		Units: "bytes", Source: "data path, whole flow",
		Meaning: "of zcrx and devmem: what fills the RX ring of the queue once; the reference's rule is four times " +
			"as much memory"},
	{Names: "queue_pool_empty queue_pool_slow queue_pool_cache_full queue_pool_ring_full",
		Units: "1", Source: "data path, whole flow",
		Meaning: "of these, what the queue's page pools counted: looks into their ring in vain, after which the " +
			"memory provider was asked; buffers of the page allocator; buffers that came back, for which cache or " +
			"ring had no room (6.8, CONFIG_PAGE_POOL_STATS)"},
	{Names: "queue_alloc_fail queue_drops",
		Units: "1 packets", Source: "data path, whole flow",
		Meaning: "of these, what the driver counted at the queue, as netlink calls it rx-alloc-fail and rx-hw-drops " +
			"(6.9): times that there was no buffer to be had, and packets that the NIC lost"},
}
