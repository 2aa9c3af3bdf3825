// SPDX-License-Identifier: MIT

package nicqueue

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/machine/nic"
)

const io, dma = nic.ProviderIOUring, nic.ProviderDMABuf

// A queue's pools are known by their numbers, though its NAPI instance was renewed, and by the
// instance where it has others; never those of another provider, nor one that is only waited for.
func TestPoolsOf(t *testing.T) {
	q := nic.Queue{ID: 1, NAPI: 102, Provider: io}
	all := []nic.Queue{{ID: 0, NAPI: 101}, q, {ID: 2, NAPI: 104, Provider: io}}
	for name, c := range map[string]struct {
		pools       []nic.PagePool
		known, want []uint64
	}{
		"by its number": {[]nic.PagePool{{ID: 9, NAPI: 104, Provider: io}, {ID: 5, NAPI: 105, Provider: io}},
			[]uint64{5}, []uint64{5}},
		"another one since": {[]nic.PagePool{{ID: 9, NAPI: 102, Provider: io}, {ID: 10, NAPI: 104, Provider: io}},
			[]uint64{5}, []uint64{9}},
		"detached":               {[]nic.PagePool{{ID: 5, NAPI: 102, Provider: io, Detached: true}}, []uint64{5}, nil},
		"of the kernel's memory": {[]nic.PagePool{{ID: 5, NAPI: 102}, {ID: 9, NAPI: 102}}, []uint64{5}, nil},
		"of another queue":       {[]nic.PagePool{{ID: 9, NAPI: 104, Provider: io}}, []uint64{5}, nil},
		"not known yet":          {[]nic.PagePool{{ID: 9, NAPI: 102, Provider: io}}, nil, []uint64{9}},
		"two of a queue": {[]nic.PagePool{{ID: 6, NAPI: 102, Provider: io}, {ID: 5, NAPI: 102, Provider: io},
			{ID: 7, NAPI: 102}}, nil, []uint64{5, 6}},
		"two, renewed": {[]nic.PagePool{{ID: 5, NAPI: 105, Provider: io}, {ID: 6, NAPI: 105, Provider: io}},
			[]uint64{5, 6}, []uint64{5, 6}},
		"two, one made anew": {[]nic.PagePool{{ID: 5, NAPI: 102, Provider: io}, {ID: 8, NAPI: 102, Provider: io}},
			[]uint64{5, 6}, []uint64{5, 8}},
		"two, and a third": {[]nic.PagePool{{ID: 5, NAPI: 102, Provider: io}, {ID: 6, NAPI: 102, Provider: io},
			{ID: 8, NAPI: 102, Provider: io}}, []uint64{5, 6}, []uint64{5, 6, 8}},
		"without NAPI": {[]nic.PagePool{{ID: 5, Provider: io}, {ID: 6, Provider: io}}, nil, nil},
		"without NAPI, known": {[]nic.PagePool{{ID: 5, Provider: io}, {ID: 6, Provider: io}}, []uint64{5},
			[]uint64{5}},
	} {
		if own := poolsOf(c.pools, all, q, c.known); !slices.Equal(ids(own), c.want) {
			t.Errorf("%s: pools %v, want %v", name, ids(own), c.want)
		}
	}
}

// What a queue's pools handed out is that of all of them; of other queues' pools, nothing. Where
// they are not those that it began with, or it is not known whose they are, that is not told.
func TestBuffersOfAllPools(t *testing.T) {
	linked := []nic.Queue{{ID: 0, NAPI: 501}, {ID: 1, NAPI: 502, Provider: io}, {ID: 2, NAPI: 503, Provider: io},
		{ID: 3, NAPI: 504, Provider: dma, DMABuf: 3}}
	bare := []nic.Queue{{ID: 0}, {ID: 1, Provider: io}}
	two := []nic.Queue{{ID: 0}, {ID: 1, Provider: io}, {ID: 2, Provider: io}}
	shared := []nic.Queue{{ID: 0, NAPI: 502}, {ID: 1, NAPI: 502, Provider: io}, {ID: 2, NAPI: 501}}
	bindings := []nic.Queue{{ID: 0}, {ID: 1, Provider: dma, DMABuf: 3}, {ID: 2, Provider: dma, DMABuf: 4}}
	pair := func(p nic.Provider, napi, dmabuf uint32) []nic.PagePool {
		return []nic.PagePool{{ID: 11, NAPI: napi, Provider: p, DMABuf: dmabuf, Inflight: 40},
			{ID: 12, NAPI: napi, Provider: p, DMABuf: dmabuf, Inflight: 60},
			{ID: 13, NAPI: napi, Inflight: 5}, {ID: 14, NAPI: 503, Provider: p, DMABuf: dmabuf + 1, Inflight: 7}}
	}
	for name, x := range map[string]struct {
		queues   []nic.Queue
		pools    []nic.PagePool
		known    []uint64
		buffers  uint64 // 0: not told
		inflight uint64 // 0: not told
	}{
		"two pools":                        {linked, pair(io, 502, 0), []uint64{11, 12}, 300, 100},
		"one of them made anew":            {linked, pair(io, 502, 0), []uint64{10, 11}, 0, 100},
		"not known at first":               {linked, pair(io, 502, 0), nil, 0, 100},
		"a shared NAPI":                    {shared, pair(io, 502, 0)[:3], []uint64{11, 12}, 300, 100},
		"queues without NAPI":              {bare, pair(io, 505, 0)[:3], []uint64{11, 12}, 300, 100},
		"neither has one":                  {bare, pair(io, 0, 0)[:3], []uint64{11, 12}, 300, 100},
		"two queues without NAPI, known":   {two, pair(io, 0, 0), []uint64{11, 12}, 300, 100},
		"two queues without NAPI, unknown": {two, pair(io, 0, 0), nil, 0, 0},
		"bindings without NAPI":            {bindings, pair(dma, 0, 3), []uint64{11, 12}, 300, 100},
	} {
		k := kernel{queues: x.queues, pools: x.pools, stats: map[uint64]nic.PoolStats{11: {Fast: 100},
			12: {Fast: 190, Empty: 10}, 13: {Fast: 1 << 20}, 14: {Fast: 1 << 20}}}
		k.replay(t, func(d *nic.Device) {
			q := &Queue{Dev: d, Queue: x.queues[1], pools: x.known}
			if n, ok := q.Buffers(); n != x.buffers || ok != (x.buffers > 0) {
				t.Errorf("%s: %d buffers, %v; want %d", name, n, ok, x.buffers)
			}
			if n, ok := q.Inflight(); n != x.inflight || ok != (x.inflight > 0) {
				t.Errorf("%s: %d in flight, %v; want %d", name, n, ok, x.inflight)
			}
		})
	}
	only := map[uint64]nic.PoolStats{11: {Fast: 100}}
	if n, ok := handedOut(pair(io, 0, 0)[:2], only); ok {
		t.Errorf("one of two pools told %d, which is not all", n)
	}
}

// Where nothing else tells the pools of two queues apart, they are a queue's that came with its
// memory; not where others were made anew, or another queue got memory at the same time.
func TestPoolsSince(t *testing.T) {
	before := bindings{true, []uint64{5, 6}, []int{1}}
	for name, x := range map[string]struct {
		now  bindings
		id   int
		want []uint64
	}{
		"one more queue":         {bindings{true, []uint64{5, 6, 9, 8}, []int{1, 2}}, 2, []uint64{8, 9}},
		"two more queues":        {bindings{true, []uint64{5, 6, 8, 9}, []int{1, 2, 3}}, 2, nil},
		"all made anew":          {bindings{true, []uint64{8, 9, 10, 11}, []int{1, 2}}, 2, nil},
		"not read":               {bindings{false, []uint64{5, 6, 8}, []int{1, 2}}, 2, nil},
		"had a provider already": {bindings{true, []uint64{5, 6, 8}, []int{1, 2}}, 1, nil},
	} {
		if got := x.now.since(before, x.id); !slices.Equal(got, x.want) {
			t.Errorf("%s: %v, want %v", name, got, x.want)
		}
	}
	if got := (bindings{true, []uint64{5}, []int{1}}).since(bindings{}, 1); got != nil {
		t.Errorf("what was before is not known: %v", got)
	}
}

// Of a queue without a NAPI instance the pools are not taken for its own that were there before it
// had any, though it seems to be the only one with such memory.
func TestFirstPools(t *testing.T) {
	pools := []nic.PagePool{{ID: 5, Provider: io}, {ID: 6, Provider: io}}
	for name, x := range map[string]struct {
		napi uint32
		old  bindings
		want []uint64
	}{
		"linked":                       {502, bindings{known: true, pools: []uint64{5}}, []uint64{5, 6}},
		"not linked":                   {0, bindings{known: true}, []uint64{5, 6}},
		"not linked, one was there":    {0, bindings{known: true, pools: []uint64{5}}, []uint64{6}},
		"not linked, what was unknown": {0, bindings{}, []uint64{5, 6}},
	} {
		k := kernel{queues: []nic.Queue{{ID: 0}, {ID: 1, NAPI: x.napi, Provider: io}}, pools: pools}
		k.replay(t, func(d *nic.Device) {
			q := &Queue{Dev: d, Queue: k.queues[1], old: x.old}
			if got := q.firstPools(); !slices.Equal(got, x.want) {
				t.Errorf("%s: %v, want %v", name, got, x.want)
			}
		})
	}
}
