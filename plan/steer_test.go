// SPDX-License-Identifier: MIT

package plan

import (
	"strings"
	"testing"
)

// By port flows have as many queues as there are flows, unless it is said how many, in all modes;
// one for each is what a rule for each is, which is the default, and no word of its own.
func TestQueuesByPort(t *testing.T) {
	for name, x := range map[string]struct {
		cell   Cell
		queues int
		steers bool
	}{
		"as found":        {Cell{RX: "tcp", TX: "tcp", Flows: 4}, 0, false},
		"of tcp":          {Cell{RX: "tcp", TX: "tcp", Flows: 4, Steer: SteerPort}, 4, true},
		"from one on":     {Cell{RX: "tcp", TX: "tcp", Flows: 4, Queue: new(1), Steer: SteerPort}, 4, true},
		"on two":          {Cell{RX: "tcp", TX: "tcp", Flows: 4, Queues: 2, Steer: SteerPort}, 2, true},
		"of a queue each": {Cell{RX: "zcrx", TX: "tcp", Flows: 4, Steer: SteerPort}, 4, false},
	} {
		if x.cell.NQueues() != x.queues || x.cell.Steers() != x.steers || x.cell.Check() != nil {
			t.Errorf("%s: %d queues, steered %v, %v", name, x.cell.NQueues(), x.cell.Steers(), x.cell.Check())
		}
	}
	var c Cell
	if err := LookupOption("steer").Set(&c, "flow"); err != nil || c.Steer != "" || c.ByPort() {
		t.Errorf("flow: %q, %v", c.Steer, err)
	}
}

// One rule does not steer one of its flows elsewhere, or to one of several rings, or into a
// container; and frames and datagrams have none.
func TestSteersOneWay(t *testing.T) {
	for want, c := range map[string]Cell{
		"use control: wrong-queue": {RX: "zcrx", TX: "tcp", Flows: 2, Steer: SteerPort, SteerTo: new(0)},
		"one ring for each queue":  {RX: "zcrx", TX: "tcp", Flows: 4, Queues: 2, QueueRings: 2, Steer: SteerPort},
		"the container has one": {RX: "zcrx", TX: "tcp", Flows: 2, Queues: 1, Steer: SteerPort,
			LeaseQueue: "eth0:3"},
		"steer port: it applies": {RX: "udp", TX: "udp", Steer: SteerPort},
	} {
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
