// SPDX-License-Identifier: MIT

package wire

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/place"
)

// SetTopology says how the host's CPUs share cores and memory. One node is none.
func (h *HelloResult) SetTopology(t place.Topology) {
	for _, c := range t.Cores {
		h.Cores = append(h.Cores, counter.FormatCPUList(c))
	}
	if len(t.Nodes) < 2 {
		return
	}
	for _, n := range slices.Sorted(maps.Keys(t.Nodes)) {
		h.Nodes = append(h.Nodes, CPUNode{n, counter.FormatCPUList(t.Nodes[n])})
	}
}

// Topology is what the host said of its CPUs.
func (h *HelloResult) Topology() place.Topology {
	t, _ := h.topology() // was checked
	return t
}

// topology refuses CPUs that are in two cores, or on two nodes.
func (h *HelloResult) topology() (place.Topology, error) {
	t := place.Topology{Nodes: map[int][]int{}}
	var cores, nodes []int
	for _, text := range h.Cores {
		cpus, err := counter.ParseCPUList(text)
		if err != nil {
			return t, err
		}
		t.Cores, cores = append(t.Cores, cpus), append(cores, cpus...)
		if err := checkCPUs("cores", cores); err != nil {
			return t, err
		}
	}
	for _, n := range h.Nodes {
		cpus, err := counter.ParseCPUList(n.CPUs)
		if err != nil {
			return t, err
		}
		if n.Node < 0 || n.Node >= mostNodes || t.Nodes[n.Node] != nil || len(cpus) == 0 {
			return t, fmt.Errorf("nodes: node %d, which no host has, or twice, or without CPUs", n.Node)
		}
		t.Nodes[n.Node], nodes = cpus, append(nodes, cpus...)
		if err := checkCPUs("nodes", nodes); err != nil {
			return t, err
		}
	}
	return t, nil
}

// mostNodes is MAX_NUMNODES of the largest build (CONFIG_NODES_SHIFT 10).
const mostNodes = 1024
