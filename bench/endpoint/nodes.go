// SPDX-License-Identifier: MIT

package endpoint

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/place"
)

// nodesOf counts on which NUMA nodes the pages are that a path has for the payload, or that it
// sends from. It is asked when the flow has ended: the kernel may have moved some (NUMA balancing).
// Nil: it is not known, or the path has none of its own.
func nodesOf(path any, payload *stream.Payload) map[int]int {
	var mem []byte
	if h, ok := path.(stream.Holder); ok {
		mem = h.Memory()
	} else if payload != nil {
		mem = payload.Memory()
	}
	nodes, err := place.PageNodes(mem)
	if err != nil {
		return nil // a kernel without NUMA, or a sandbox: not measured
	}
	return nodes
}

// farShare is which share of the pages may be on another node than the thread's CPU.
const farShare = 0.01

// memoryNodes builds the figures of where the payload's pages are, and a warning where they are not
// on the node of the thread.
func memoryNodes(nodes map[int]int, cpu int, t place.Topology) (ms []measure.Metric, warning string) {
	all := 0
	for _, n := range nodes {
		all += n
	}
	if all == 0 {
		return nil, ""
	}
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		ms = append(ms, measure.Metric{Name: "memory_nodeN_share", Of: []string{strconv.Itoa(node)}, Unit: "1",
			Value: float64(nodes[node]) / float64(all), Source: "move_pages"})
	}
	own := t.NodeOf(cpu)
	if far := float64(all-nodes[own]) / float64(all); own >= 0 && far > farShare {
		warning = fmt.Sprintf("%.0f %% of the payload's memory is on another NUMA node than CPU %d, which is on "+
			"node %d: that node had no memory left (numactl -H), or the process may not use it (cpuset.mems), or "+
			"the kernel moved it (kernel.numa_balancing)",
			100*far, cpu, own)
	}
	return ms, warning
}
