// SPDX-License-Identifier: MIT

package matrix

import (
	"fmt"
	"strconv"
)

// AnyNode lets the CPUs of an end be on any NUMA node.
const AnyNode = -1

// mostNode is the last that Linux can be built for (CONFIG_NODES_SHIFT 10).
const mostNode = 1<<10 - 1

// ParseNode reads the number of a NUMA node, or "any".
func ParseNode(s string) (*int, error) {
	if s == "any" {
		return new(AnyNode), nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > mostNode {
		return nil, fmt.Errorf("%.40q is not a NUMA node: want its number, or any", s)
	}
	return &n, nil
}
