// SPDX-License-Identifier: MIT

package place

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/cpuclass"
)

// Topology is how a host's CPUs share cores and memory.
type Topology struct {
	Cores [][]int       // CPUs that are threads of one core, where a core has several
	Nodes map[int][]int // the CPUs of each NUMA node
	// Classes are the kinds of CPUs, the fastest first; nil: all are alike.
	Classes []cpuclass.Class
}

// ReadTopology reads that of this host. What it does not say is missing.
func ReadTopology() Topology { return readTopology("/sys") }

func readTopology(root string) Topology {
	t := Topology{Nodes: map[int][]int{}, Classes: cpuclass.Read(root)}
	files, _ := filepath.Glob(filepath.Join(root, "devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list"))
	for _, f := range files {
		cpus, err := readCPUs(f)
		if err == nil && len(cpus) > 1 &&
			!slices.ContainsFunc(t.Cores, func(c []int) bool { return slices.Equal(c, cpus) }) {
			t.Cores = append(t.Cores, cpus)
		}
	}
	slices.SortFunc(t.Cores, slices.Compare)
	dirs, _ := filepath.Glob(filepath.Join(root, "devices/system/node/node[0-9]*"))
	for _, d := range dirs {
		n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(d), "node"))
		if cpus, cerr := readCPUs(filepath.Join(d, "cpulist")); err == nil && cerr == nil && len(cpus) > 0 {
			t.Nodes[n] = cpus
		}
	}
	return t
}

// Siblings reports whether two CPUs are threads of one core.
func (t Topology) Siblings(a, b int) bool {
	return a != b && slices.ContainsFunc(t.Cores, func(c []int) bool {
		return slices.Contains(c, a) &&
			slices.Contains(c, b)
	})
}

// NodeOf returns the NUMA node of a CPU; -1: it is not known, or there is but one.
func (t Topology) NodeOf(cpu int) int {
	if len(t.Nodes) < 2 {
		return -1
	}
	for n, cpus := range t.Nodes {
		if slices.Contains(cpus, cpu) {
			return n
		}
	}
	return -1
}

// NodeOfAll returns the node that all of some CPUs are on; -1: there is none, or it is not known.
func (t Topology) NodeOfAll(cpus []int) int {
	node := -1
	for i, c := range cpus {
		n := t.NodeOf(c)
		if i > 0 && n != node {
			return -1
		}
		node = n
	}
	return node
}

// String lists the nodes, for people: "node 0 has 0-3, node 1 has 4-7".
func (t Topology) String() string {
	var numbers []int
	for n := range t.Nodes {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	var parts []string
	for _, n := range numbers {
		parts = append(parts, fmt.Sprintf("node %d has %s", n, counter.FormatCPUList(t.Nodes[n])))
	}
	return strings.Join(parts, ", ")
}
