// SPDX-License-Identifier: MIT

package matrix

import (
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/plan"
)

// SharedQueues refuses the layout of one CPU for flows that share a queue but have threads on
// different CPUs: a queue's softirq has one CPU, which cannot be that of both. cpus are those that
// were named for the receiving threads, nil if each has its own.
func SharedQueues(c *plan.Cell, cpus []int) error {
	flows, queues := c.NFlows(), c.NQueues()
	if c.CPULayout != string(place.OneCPU) || queues == 0 {
		return nil
	}
	for n := queues; n < c.NThreads(stream.RX); n++ { // fewer threads: one moves all flows of a queue
		why := "each has a thread on a CPU of its own"
		if len(cpus) > 0 {
			a, b := cpus[n%queues%len(cpus)], cpus[n%len(cpus)]
			if a == b {
				continue
			}
			why = fmt.Sprintf("flows %d and %d of one queue have CPUs %d and %d", n%queues, n, a, b)
		}
		of := "one RX queue"
		if queues > 1 {
			of = fmt.Sprintf("%d RX queues", queues)
		}
		return &fault.Error{Op: fmt.Sprintf("the layout 1cpu puts a flow's softirq on its thread's CPU, but %d "+
			"flows of %s share %s, whose softirq has one CPU, and %s", flows, c.RX, of, why),
			How: apart(flows, queues)}
	}
	return nil
}

// apart suggests how flows can do without sharing a queue, or share its CPU, too.
func apart(flows, queues int) string {
	var example []string
	for i := range queues {
		example = append(example, fmt.Sprint(i+2))
	}
	name, file := "name one CPU for all threads", example[0]
	if queues > 1 {
		name, file = fmt.Sprintf("name %d CPUs, one for the flows of each queue", queues),
			"["+strings.Join(example, ", ")+"]"
	}
	return fmt.Sprintf("%s (such as --sut-cpu %s; in files sut.cpu: %s), or use the layout 2cpu, or a queue for "+
		"each flow (--queues %d), if the NIC has %d",
		name, strings.Join(example, ","), file, flows, flows+1)
}
