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

// topology refuses CPUs that are in two cores, or on two nodes. What it takes is bounded: no CPU
// is looked at twice, and no list is without one.
func (h *HelloResult) topology() (place.Topology, error) {
	t := place.Topology{Nodes: map[int][]int{}}
	if len(h.Cores) > mostCPUs {
		return t, fmt.Errorf("cores: %d of them, and no host has more than %d CPUs", len(h.Cores), mostCPUs)
	}
	if len(h.Nodes) > mostNodes {
		return t, fmt.Errorf("nodes: %d of them, and no host has more than %d", len(h.Nodes), mostNodes)
	}
	inCore, onNode := seenCPUs{}, seenCPUs{}
	for _, text := range h.Cores {
		cpus, err := inCore.list("cores", text)
		if err != nil {
			return t, err
		}
		t.Cores = append(t.Cores, cpus)
	}
	for _, n := range h.Nodes {
		if n.Node < 0 || n.Node >= mostNodes || t.Nodes[n.Node] != nil {
			return t, fmt.Errorf("nodes: node %d does not exist, or occurs twice", n.Node)
		}
		cpus, err := onNode.list("nodes", n.CPUs)
		if err != nil {
			return t, err
		}
		t.Nodes[n.Node] = cpus
	}
	return t, nil
}

// list reads a list of CPUs of which there is one at least, and none in a list before it.
func (s seenCPUs) list(what, text string) ([]int, error) {
	cpus, err := counter.ParseCPUList(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if len(cpus) == 0 {
		return nil, fmt.Errorf("%s: a list without CPUs", what)
	}
	return cpus, s.add(what, cpus)
}

// mostNodes is MAX_NUMNODES of the largest build (CONFIG_NODES_SHIFT 10).
const mostNodes = 1024
