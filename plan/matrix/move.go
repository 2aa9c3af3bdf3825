// SPDX-License-Identifier: MIT

package matrix

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zcbench/zcbench/machine/counter"
)

// Move puts the end on another host. It leaves out, and returns in words, what was of the
// former one: interface, address, CPUs and NUMA node. Threads that are not pinned, and any
// node, are of no host.
func (e *End) Move(host string) (left []string) {
	if e.Dev != "" {
		left = append(left, "interface "+e.Dev)
	}
	if e.Addr != "" {
		left = append(left, "address "+e.Addr)
	}
	if e.CPU != nil && *e.CPU >= 0 {
		left = append(left, "CPU "+counter.FormatCPUList(e.ThreadCPUs()))
		e.CPU, e.CPUs = nil, nil
	}
	for _, name := range slices.Sorted(maps.Keys(e.Layouts)) {
		l := e.Layouts[name]
		left = append(left, fmt.Sprintf("CPUs %d,%d of layout %s", l.App, l.IRQ, name))
	}
	if e.Node != nil && *e.Node != AnyNode {
		left, e.Node = append(left, fmt.Sprintf("NUMA node %d", *e.Node)), nil
	}
	e.NameHost(host)
	e.Dev, e.Addr, e.Layouts = "", "", nil
	return left
}
