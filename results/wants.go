// SPDX-License-Identifier: MIT

package results

import (
	"slices"
	"strings"

	"github.com/zcbench/zcbench/machine/measure"
)

// Wants is how the RX queues with an application's memory fared for buffers, all of a run together,
// from the first byte of the flows to the last. What nobody counts is nil.
type Wants struct {
	RingBytes *uint64 `json:"ring_bytes,omitempty"` // that fill a queue's ring once
	PoolEmpty *uint64 `json:"pool_empty,omitempty"` // times that a page pool asked the memory provider
	PoolSlow  *uint64 `json:"pool_slow,omitempty"`  // buffers of the page allocator
	PoolFull  *uint64 `json:"pool_full,omitempty"`  // buffers that came back, and found cache or ring full
	AllocFail *uint64 `json:"alloc_fail,omitempty"` // times that the driver got no buffer
	Drops     *uint64 `json:"drops,omitempty"`      // packets that the NIC lost
	CQFull    *uint64 `json:"cq_full,omitempty"`    // completions that were late or lost: their queue was full
}

// wanting are the metrics that are added up in a field.
var wanting = []struct {
	at      func(*Wants) **uint64
	metrics []string
}{
	{func(w *Wants) **uint64 { return &w.PoolEmpty }, []string{"queue_pool_empty"}},
	{func(w *Wants) **uint64 { return &w.PoolSlow }, []string{"queue_pool_slow"}},
	{func(w *Wants) **uint64 { return &w.PoolFull }, []string{"queue_pool_cache_full", "queue_pool_ring_full"}},
	{func(w *Wants) **uint64 { return &w.AllocFail }, []string{"queue_alloc_fail"}},
	{func(w *Wants) **uint64 { return &w.Drops }, []string{"queue_drops"}},
	{func(w *Wants) **uint64 { return &w.CQFull }, []string{"uring_cq_lost", "uring_cq_backlogs", "uring_overflows"}},
}

// WantsOf adds up what the metrics of a receiver say of all its queues; nil: it has taken none.
func WantsOf(all []measure.Metric) *Wants {
	w, taken := &Wants{}, false
	for i := range all {
		name, v := measure.WithoutFlow(all[i].Name), all[i].Value
		if taken = taken || strings.HasPrefix(name, "queue_"); v < 0 {
			continue
		}
		if name == "queue_ring_bytes" {
			w.RingBytes = new(uint64(v))
		}
		for _, x := range wanting {
			if to := x.at(w); slices.Contains(x.metrics, name) {
				sum := uint64(v)
				if *to != nil {
					sum += **to
				}
				*to = &sum
			}
		}
	}
	if !taken {
		return nil
	}
	return w
}
