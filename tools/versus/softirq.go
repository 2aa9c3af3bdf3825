// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/machine/counter"
)

// softirqs counts NET_RX softirq runs by CPU: veth delivers on the core that
// runs the softirq, and with it goes much of the cost of receiving.
type softirqs map[int]uint64

// add returns s with what happened between two readings.
func (s softirqs) add(grown counter.Softirqs) softirqs {
	for cpu, n := range grown.NetRX() {
		s[cpu] += n
	}
	return s
}

// String lists which share ran where.
func (s softirqs) String() string {
	var all uint64
	for _, n := range s {
		all += n
	}
	if all == 0 {
		return "not counted"
	}
	var parts []string
	for cpu := range len(s) {
		if n, ok := s[cpu]; ok && n > 0 {
			parts = append(parts, fmt.Sprintf("core %d %.1f %%", cpu, 100*float64(n)/float64(all)))
		}
	}
	return strings.Join(parts, ", ")
}
