// SPDX-License-Identifier: MIT

package plan

import (
	"fmt"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan/modes"
)

// NQueues returns how many RX queues the cell's flows use; 0: as found.
func (c *Cell) NQueues() int {
	switch {
	case c.Queues > 0:
		return c.Queues
	case c.takesQueues(), c.Steers() && c.ByPort():
		return c.NFlows()
	case c.Steers():
		return 1 // the one that is named
	}
	return 0
}

// NThreads returns how many threads move the flows at an end: one per flow, except where the
// receive mode takes queues over: there one for all flows of a queue's ring, which share its
// memory. Flow n is moved by thread n mod NThreads.
func (c *Cell) NThreads(role stream.Role) int {
	if role == stream.RX && c.takesQueues() {
		return min(c.NQueues()*c.NRings(), c.NFlows())
	}
	return c.NFlows()
}

// SpareCPUs refuses CPUs that were named for the threads of an end, but of which no cell has a
// thread for the last ones: they would do nothing.
func SpareCPUs(role stream.Role, cpus []int, cells ...Cell) error {
	most, shares := 1, false
	for i := range cells {
		c := &cells[i]
		most = max(most, c.NThreads(role))
		shares = shares || c.NThreads(role) < c.NFlows()
	}
	if len(cpus) <= most {
		return nil
	}
	threads, more := "threads", "use more flows (flows)"
	if most == 1 {
		threads = "thread"
	}
	if shares {
		more = "give the flows more RX queues (queues), each of which has one thread"
	}
	return fmt.Errorf("%d CPUs are named, but this end has at most %d %s: name no more than %d, or %s", len(cpus), most,
		threads, most, more)
}

// OneFlow reduces the cell to one flow, the baseline for how well c scales. Steered flows stay
// steered. The result has no id.
func (c Cell) OneFlow() Cell {
	c.ID, c.Flows, c.Queues, c.QueueRings, c.RingsIn = "", 0, min(c.Queues, 1), 0, ""
	if c.takesQueues() {
		c.Queues = 0 // one, whether that was said or not
	}
	return c
}

// takesQueues: the receive mode takes the queues over that its flows come by.
func (c *Cell) takesQueues() bool {
	m, err := modes.Find(stream.RX, c.RX)
	return err == nil && m.TakesQueue()
}

// Dealt computes how many of all things, which are dealt in turn, come to place of so many.
func Dealt(all, place, of int) int { return (all - place + of - 1) / of }
