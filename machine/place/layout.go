// SPDX-License-Identifier: MIT

package place

import (
	"fmt"
	"slices"
)

// Layout is how softirq and application share CPUs.
type Layout string

// The layouts. The empty one leaves everything as it is found.
const (
	AsFound Layout = ""
	OneCPU  Layout = "1cpu" // softirq and application on one CPU
	TwoCPU  Layout = "2cpu" // each on its own
)

// CPUs are those of one flow at one end: of its data-path thread, and of its softirq under
// TwoCPU. -1 is none.
type CPUs struct{ App, Softirq int }

// ParseCPUs reads "APP,SOFTIRQ".
func ParseCPUs(s string) (CPUs, error) {
	var c CPUs
	if n, err := fmt.Sscanf(s, "%d,%d", &c.App, &c.Softirq); n != 2 || err != nil ||
		fmt.Sprintf("%d,%d", c.App, c.Softirq) != s || c.App < 0 || c.Softirq < 0 {
		return c, fmt.Errorf("CPUs %q: want two numbers, APP,SOFTIRQ, such as 3,2", s)
	}
	return c, nil
}

// Layout names the layout that the two CPUs form.
func (c CPUs) Layout() Layout {
	if c.App == c.Softirq {
		return OneCPU
	}
	return TwoCPU
}

// SoftirqOf returns the CPU of the softirq under a layout.
func (c CPUs) SoftirqOf(l Layout) int {
	switch l {
	case OneCPU:
		return c.App
	case TwoCPU:
		return c.Softirq
	}
	return -1
}

// NoCPUs are those of a flow that is not placed.
var NoCPUs = CPUs{-1, -1}

// Choose takes the CPUs of an end's flows out of near, those next to its NIC with one of each
// core, in order: the last ones, which are least likely to serve anything else. avoid is taken
// for a softirq only if there is no other. No two flows share one; a flow for which none is left
// has -1.
func Choose(near []int, flows int, avoid ...int) (all []CPUs) {
	left := slices.Clone(near)
	for range flows {
		c := choose(left, avoid)
		left = slices.DeleteFunc(left, func(n int) bool { return n == c.App || n == c.Softirq })
		all = append(all, c)
	}
	return all
}

func choose(near, avoid []int) CPUs {
	if len(near) == 0 {
		return NoCPUs
	}
	c := CPUs{near[len(near)-1], -1}
	for i := len(near) - 2; i >= 0; i-- {
		if !slices.Contains(avoid, near[i]) {
			c.Softirq = near[i]
			return c
		}
	}
	if len(near) > 1 {
		c.Softirq = near[len(near)-2]
	}
	return c
}
