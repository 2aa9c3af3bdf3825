// SPDX-License-Identifier: MIT

package xdp

import (
	"fmt"

	"github.com/cilium/ebpf"
)

// Counts is what a program has counted. It is struct counts of frames.bpf.c.
type Counts struct {
	Frames, Bytes uint64 // the generator's
	Others        uint64 // frames that are not, and went on
	Missed        uint64 // the generator's that could not be redirected, and were dropped
}

func (c *Counts) add(d Counts) {
	c.Frames, c.Bytes, c.Others, c.Missed = c.Frames+d.Frames, c.Bytes+d.Bytes, c.Others+d.Others, c.Missed+d.Missed
}

// Sub is what was counted since an earlier reading.
func (c Counts) Sub(b Counts) Counts {
	return Counts{c.Frames - b.Frames, c.Bytes - b.Bytes, c.Others - b.Others, c.Missed - b.Missed}
}

// Sum is that of all CPUs.
func Sum(of []Counts) (all Counts) {
	for _, c := range of {
		all.add(c)
	}
	return all
}

// Places of a map of counts.
const (
	atRung uint32 = iota
	behindCPUMap
)

// readCounts reads what each CPU has counted at a place, by its number.
func readCounts(m *ebpf.Map, place uint32) ([]Counts, error) {
	var of []Counts
	if err := m.Lookup(place, &of); err != nil {
		return nil, fmt.Errorf("read the counts of an eBPF program: %w", err)
	}
	return of, nil
}
