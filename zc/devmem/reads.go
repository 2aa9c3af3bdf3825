// SPDX-License-Identifier: MIT

package devmem

import (
	"fmt"
	"math/bits"

	"github.com/zcbench/zcbench/machine/measure"
)

// reads is the distribution of what recvmsg calls brought, in fragments.
type reads struct {
	calls     uint64 // all
	empty     uint64 // of them, without payload: nothing was there
	frags     uint64
	some      uint64 // calls that brought fragments
	min, max  int
	over1024  uint64
	mid       uint64     // 512..1024
	under512  uint64     // but more than none
	hist      [20]uint64 // at i: 2^i up to 2^(i+1)-1
	passed    uint64     // times that more than 1024 fragments had been gathered
	avoided   uint64     // calls with fragments that no setsockopt followed
	truncated uint64     // MSG_CTRUNC
}

// count books a call that brought n fragments, n more than 0.
func (r *reads) count(n int) {
	if r.some == 0 || n < r.min {
		r.min = n
	}
	r.max = max(r.max, n)
	r.some++
	r.frags += uint64(n)
	r.hist[min(bits.Len(uint(n))-1, len(r.hist)-1)]++
	switch {
	case n > 1024:
		r.over1024++
	case n >= 512:
		r.mid++
	default:
		r.under512++
	}
}

// figures adds the distribution. Without any fragment it has no minimum, average
// or maximum.
func (r *reads) figures(figure func(name, unit string, v float64)) {
	count := func(name string, v uint64) { figure("devmem_"+name, "1", float64(v)) }
	count("recvmsg_calls", r.calls)
	count("recvmsg_empty", r.empty)
	count("recvmsg_truncated", r.truncated)
	count("frags", r.frags)
	if r.some > 0 {
		count("frags_per_read_min", uint64(r.min))
		figure("devmem_frags_per_read_avg", "1", float64(r.frags)/float64(r.some))
		count("frags_per_read_max", uint64(r.max))
	}
	count("reads_over_1024_frags", r.over1024)
	count("reads_512_to_1024_frags", r.mid)
	count("reads_under_512_frags", r.under512)
	for i, n := range r.hist {
		if n > 0 {
			count(fmt.Sprintf("reads_frags_%d_to_%d", 1<<i, 1<<(i+1)-1), n)
		}
	}
	count("gathered_over_1024", r.passed)
	count("setsockopt_avoided", r.avoided)
}

// ReadMetrics describe what reads brought and what was handed back.
var ReadMetrics = []measure.MetricDoc{
	{Names: "devmem_recvmsg_calls devmem_recvmsg_empty devmem_recvmsg_truncated",
		Units: "1", Source: "data path, whole flow",
		Meaning: "reads; that found nothing; whose control space was too small"},
	{Names: "devmem_frags devmem_frags_per_read_min devmem_frags_per_read_avg " +
		"devmem_frags_per_read_max",
		Units: "1", Source: "data path, whole flow",
		Meaning: "fragments, in all and of a read that brought some"},
	{Names: "devmem_reads_over_1024_frags devmem_reads_512_to_1024_frags " +
		"devmem_reads_under_512_frags",
		Units: "1", Source: "data path, whole flow",
		Meaning: "reads by fragments, in the classes of the reference experiment"},
	{Names: "devmem_reads_frags_N_to_N",
		Units: "1", Source: "data path, whole flow",
		Meaning: "the same by powers of two"},
	{Names: "devmem_gathered_over_1024 devmem_idle_releases devmem_setsockopt_calls " +
		"devmem_setsockopt_avoided devmem_token_ranges devmem_tokens_received " +
		"devmem_tokens_freed devmem_pool_inflight",
		Units: "1", Source: "data path, whole flow",
		Meaning: "docs/devmem.md"},
}
