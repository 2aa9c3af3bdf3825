// SPDX-License-Identifier: MIT

package place

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zcbench/zcbench/internal/fault"
)

// Want says on which CPUs the receive softirq of an interface is to run.
type Want struct {
	// CPUs are those of the flows' softirqs. One may be named more than once.
	CPUs []int
	// Queues are the CPUs of RX queues that flows are known to come by. What comes by other
	// queues is spread over all the CPUs that are named.
	Queues map[int]int
}

// On wants the softirq on CPUs, whatever queue a packet comes by.
func On(cpus ...int) Want { return Want{CPUs: cpus} }

// Add wants the softirq of one more flow on a CPU; queue is the RX queue that it is known to
// come by. A queue has one softirq, so all its flows must want that on one CPU.
func (w *Want) Add(cpu int, queue *int) error {
	if queue != nil {
		if was, ok := w.Queues[*queue]; ok && was != cpu {
			return &fault.Error{Op: fmt.Sprintf(
				"RX queue %d has several flows whose softirqs should run on CPUs %d and %d, but a queue has one CPU",
				*queue, was, cpu),
				How: "name one CPU for the threads of a queue's flows (--sut-cpu with as many CPUs as --queues), " +
					"use the layout 2cpu, or give each flow its own queue (--queues)"}
		}
		if w.Queues == nil {
			w.Queues = map[int]int{}
		}
		w.Queues[*queue] = cpu
	}
	w.CPUs = append(w.CPUs, cpu)
	return nil
}

// all lists the CPUs, each once, in order.
func (w Want) all() []int {
	cpus := slices.AppendSeq(slices.Clone(w.CPUs), maps.Values(w.Queues))
	slices.Sort(cpus)
	return slices.Compact(cpus)
}

// queuesOf lists the queues that have a CPU of their own, in order.
func queuesOf(m map[int]int) []int { return slices.Sorted(maps.Keys(m)) }

// CPUsOf returns the CPUs on which a flow's softirq may run: that of the RX queue which it is known
// to come by, or else any.
func (p *Placement) CPUsOf(queue *int) []int {
	if queue != nil {
		if cpu, ok := p.Queues[*queue]; ok {
			return []int{cpu}
		}
	}
	return p.CPUs
}
