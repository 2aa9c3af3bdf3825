// SPDX-License-Identifier: MIT

package bpf

import (
	"fmt"

	"github.com/zcbench/zcbench/machine/measure"
)

// pathCounter is one counter of the receive path.
type pathCounter struct {
	name, unit string
	program    string // that counts it
	help       string
}

// pathCounters are in the order of enum counter of path.bpf.c.
var pathCounters = []pathCounter{
	{"devmem_token_frees", "calls", pathProgDevmemFrees, "SO_DEVMEM_DONTNEED calls, of the whole machine."},
	{"devmem_allocs", "buffers", pathProgDevmemAllocs, "Buffers taken from the pools of dmabufs."},
	{"devmem_releases", "buffers", pathProgDevmemReleases, "Buffers given back to the pools of dmabufs."},
	{"zcrx_pool_allocs", "refills", pathProgZcrxAllocs, "Refills of page pools by io_uring zero-copy receive."},
	{"zcrx_pool_releases", "buffers", pathProgZcrxReleases, "Buffers given back to io_uring zero-copy receive."},
	{"zcrx_copy_fallbacks", "copies", pathProgZcrxCopies,
		"Pieces that io_uring zero-copy receive copied, of the whole machine."},
	{"cqe_overflows", "1", pathProgCqeOverflows,
		"Completions that found the ring of io_uring full, of the whole machine."},
	{"page_pool_allocs", "buffers", pathProgPoolAllocs, "Buffers asked of page pools."},
	{"page_pool_puts", "buffers", pathProgPoolPuts, "Buffers given back to page pools."},
	{"page_pool_slow_allocs", "buffers", pathProgPoolSlow, "Pages that page pools took from the page allocator."},
	{"page_pool_releases", "buffers", pathProgPoolReleases, "Pages that page pools gave to the page allocator."},
	{"napi_polls", "polls", pathProgNapiPolls, "Polls of NAPI instances."},
	{"napi_packets", "packets", pathProgNapiPolls, "Packets that NAPI polls took."},
	{"napi_full_budgets", "polls", pathProgNapiPolls, "NAPI polls that used up their budget."},
}

// Counter describes one counter of the receive path.
type Counter struct{ Name, Unit, Help string }

// Counters lists those that [Path] can read.
func Counters() []Counter {
	var out []Counter
	for _, c := range pathCounters {
		out = append(out, Counter{c.name, c.unit, c.help})
	}
	return out
}

// Path counts what buffers and polls do on the receive path.
type Path struct {
	Hooks []Hook
	set   *set
}

// OpenPath loads the counters, of one interface or one network namespace (by
// inode) where these are not 0. Counters of io_uring and of sockets are of the
// whole machine. It needs root.
func OpenPath(netns uint64, ifindex int) (*Path, error) {
	s, err := newSet(loadPath, map[string]any{"only_netns": uint32(netns), "only_ifindex": uint32(ifindex)})
	if err != nil {
		return nil, err
	}
	p := &Path{set: s}
	done := map[string]bool{}
	for _, c := range pathCounters {
		if !done[c.program] {
			done[c.program] = true
			p.Hooks = append(p.Hooks, s.hook(c.name, c.program))
		}
	}
	return p, nil
}

// Count is one counter's value.
type Count struct {
	Name  string `json:"name"`
	Unit  string `json:"unit"`
	Value uint64 `json:"value"`
}

// Read returns the counters that could be loaded, since the beginning.
func (p *Path) Read() ([]Count, error) {
	var out []Count
	for i, c := range pathCounters {
		if p.set.progs[c.program] == nil {
			continue
		}
		var cpus []uint64
		if err := p.set.maps.Maps[pathMapCounters].Lookup(uint32(i), &cpus); err != nil {
			return nil, fmt.Errorf("read the counter %s: %w", c.name, err)
		}
		v := Count{Name: c.name, Unit: c.unit}
		for _, n := range cpus {
			v.Value += n
		}
		out = append(out, v)
	}
	return out, nil
}

// Close detaches everything.
func (p *Path) Close() error { return p.set.close() }

// PathMetrics describe the zero-copy path.
var PathMetrics = []measure.MetricDoc{
	{Names: "probe_NAME",
		Units: "*", Source: "eBPF",
		Meaning: "counters of the zero-copy path"},
}
