// SPDX-License-Identifier: MIT

package nic

import (
	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/remedy"
)

// PagePool is one pool of receive buffers.
type PagePool struct {
	ID            uint64
	NAPI          uint32
	Provider      Provider
	DMABuf        uint32 // the binding's number, of a dmabuf
	Inflight      uint64 // buffers that are out, the pool's own cache of up to 64 included
	InflightBytes uint64
	Detached      bool // its queue is gone; it waits for the buffers that are out
}

// Queue finds the RX queue that the pool serves, among all of the interface. The kernel tells of a
// pool no queue, only its provider, a dmabuf's number, and the NAPI instance, each where there is
// one (page_pool_nl_fill of net/core/page_pool_user.c, Linux 7.2). A queue has several pools where
// its driver has several rings of buffers for it (idpf: IDPF_MAX_BUFQS_PER_RXQ_GRP), and no NAPI
// instance where its driver links none (idpf before 6.19); one instance may serve several queues
// (fbnic). ok is false where more than one could be meant.
func (p PagePool) Queue(all []Queue) (id int, ok bool) {
	for _, q := range all {
		if !p.mayServe(q) {
			continue
		}
		if ok {
			return 0, false
		}
		id, ok = q.ID, true
	}
	return id, ok
}

// mayServe: nothing that is known of pool and queue contradicts, and something agrees. Pools of the
// kernel's memory, such as those of headers, are also those of queues with a provider.
func (p PagePool) mayServe(q Queue) bool {
	if p.Provider == ProviderNone {
		return p.NAPI != 0 && p.NAPI == q.NAPI
	}
	return p.Provider == q.Provider && p.DMABuf == q.DMABuf && (p.NAPI == 0 || q.NAPI == 0 || p.NAPI == q.NAPI)
}

// PagePools lists the interface's pools (netdev page-pool-get, 6.8).
func (d *Device) PagePools() ([]PagePool, error) {
	msgs, err := d.ask(d.netdev, cmdPagePoolGet, netlink.Dump, func(*netlink.AttributeEncoder) {})
	if err != nil {
		return nil, d.failed(remedy.PagePoolGet, d.op("list the page pools"), err)
	}
	var out []PagePool
	for _, m := range msgs {
		p, index, err := decodePool(m.Data)
		if err != nil {
			return nil, garbled(d.op("list the page pools"), err)
		}
		if index == d.Index {
			out = append(out, p)
		}
	}
	return out, nil
}

func decodePool(b []byte) (p PagePool, index int, err error) {
	ad, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return p, 0, err
	}
	for ad.Next() {
		switch ad.Type() {
		case attrPoolID:
			p.ID = uintOf(ad)
		case attrPoolIfindex:
			index = int(ad.Uint32())
		case attrPoolNAPI:
			p.NAPI = uint32(uintOf(ad))
		case attrPoolInflight:
			p.Inflight = uintOf(ad)
		case attrPoolInflightMem:
			p.InflightBytes = uintOf(ad)
		case attrPoolDetach:
			p.Detached = true
		case attrPoolDMABuf:
			p.Provider, p.DMABuf = ProviderDMABuf, uint32(uintOf(ad))
		case attrPoolIOUring:
			p.Provider = ProviderIOUring
		}
	}
	return p, index, ad.Err()
}

// PoolStats is what a pool has handed out, and taken back, since it was made
// (include/net/page_pool/types.h, struct page_pool_alloc_stats and page_pool_recycle_stats).
type PoolStats struct {
	Fast      uint64 // buffers from the pool's cache
	Refill    uint64 // from its ring of returned buffers
	Empty     uint64 // looks at that ring in vain: then the memory provider, or the allocator, was asked
	Slow      uint64 // buffers from the allocator; those of a memory provider are not counted here
	HighOrder uint64 // from the allocator, of several pages
	Waive     uint64 // given back to the allocator, because they were of another NUMA node

	Cached    uint64 // taken back into the cache
	CacheFull uint64 // not into the cache, which was full
	Ring      uint64 // into the ring
	RingFull  uint64 // given back to the allocator: the ring was full
	Released  uint64 // and because somebody else held them
}

// Buffers computes at most how many buffers the pool handed out. A memory provider is asked when
// the ring is empty, for a whole cache of buffers of which one is used at once: that one is counted
// by the vain look alone.
func (s PoolStats) Buffers() uint64 {
	return s.Fast + s.Refill + max(s.Empty, s.Slow+s.HighOrder)
}

// Recycled sums the buffers that the pool took back for itself.
func (s PoolStats) Recycled() uint64 { return s.Cached + s.Ring }

// PoolStats reads the counters of all page pools of the interface, by the pool's
// number (netdev page-pool-stats-get, 6.8, CONFIG_PAGE_POOL_STATS).
func (d *Device) PoolStats() (map[uint64]PoolStats, error) {
	op := d.op("read the page pools' counters")
	msgs, err := d.ask(d.netdev, cmdPoolStatsGet, netlink.Dump, func(*netlink.AttributeEncoder) {})
	if err != nil {
		return nil, d.failed(remedy.PoolStatsGet, op, err)
	}
	out := map[uint64]PoolStats{}
	for _, m := range msgs {
		id, index, s, err := decodePoolStats(m.Data)
		if err != nil {
			return nil, garbled(op, err)
		}
		if index == d.Index {
			out[id] = s
		}
	}
	return out, nil
}

func decodePoolStats(b []byte) (id uint64, index int, s PoolStats, err error) {
	ad, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return 0, 0, s, err
	}
	counts := map[uint16]*uint64{attrPoolStatsFast: &s.Fast, attrPoolStatsSlow: &s.Slow,
		attrPoolStatsHighOrder: &s.HighOrder, attrPoolStatsEmpty: &s.Empty,
		attrPoolStatsRefill: &s.Refill, attrPoolStatsWaive: &s.Waive, attrPoolStatsCached: &s.Cached,
		attrPoolStatsCacheFull: &s.CacheFull,
		attrPoolStatsRing:      &s.Ring, attrPoolStatsRingFull: &s.RingFull, attrPoolStatsReleased: &s.Released}
	for ad.Next() {
		switch ad.Type() {
		case attrPoolStatsInfo: // the pool: attributes of page-pool-get
			ad.Nested(func(n *netlink.AttributeDecoder) error {
				for n.Next() {
					switch n.Type() {
					case attrPoolID:
						id = uintOf(n)
					case attrPoolIfindex:
						index = int(n.Uint32())
					}
				}
				return n.Err()
			})
		default:
			if n := counts[ad.Type()]; n != nil {
				*n = uintOf(ad)
			}
		}
	}
	return id, index, s, ad.Err()
}
