// SPDX-License-Identifier: MIT

package wire

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/cpuclass"
	"github.com/zcbench/zcbench/machine/place"
)

// SetTopology records how the host's CPUs share cores and memory. A single node is left out.
func (h *HelloResult) SetTopology(t place.Topology) {
	for _, c := range t.Cores {
		h.Cores = append(h.Cores, counter.FormatCPUList(c))
	}
	for _, c := range t.Classes {
		h.Classes = append(h.Classes, cpuClass{c.Name, counter.FormatCPUList(c.CPUs)})
	}
	if len(t.Nodes) < 2 {
		return
	}
	for _, n := range slices.Sorted(maps.Keys(t.Nodes)) {
		h.Nodes = append(h.Nodes, cpuNode{n, counter.FormatCPUList(t.Nodes[n])})
	}
}

// Topology returns what the host said of its CPUs.
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
	var err error
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
	t.Classes, err = h.classes()
	return t, err
}

// mostClasses is more than any processor has, and mostClassName than any name of ours.
const mostClasses, mostClassName = 16, 40

// classes refuses CPUs that are in two classes, and names that are none of ours.
func (h *HelloResult) classes() (all []cpuclass.Class, err error) {
	if len(h.Classes) > mostClasses {
		return nil, fmt.Errorf("classes: %d of them, and no processor has more than %d", len(h.Classes), mostClasses)
	}
	seen := seenCPUs{}
	for _, c := range h.Classes {
		if len(c.Name) > mostClassName || strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyzMH0123456789_ ") != "" ||
			c.Name == "" {
			return nil, fmt.Errorf("classes: %.60q is no class of CPUs", c.Name)
		}
		cpus, err := seen.list("classes", c.CPUs)
		if err != nil {
			return nil, err
		}
		all = append(all, cpuclass.Class{Name: c.Name, CPUs: cpus})
	}
	return all, nil
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
