// SPDX-License-Identifier: MIT

package plan

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
)

// No end has more threads than flows.
func TestThreadsOfFlows(t *testing.T) {
	for _, x := range []struct {
		cell   Cell
		rx, tx int
	}{
		{Cell{RX: "tcp", Flows: 4}, 4, 4}, {Cell{RX: "tcp", Flows: 4, Queues: 2}, 4, 4},
		{Cell{RX: "zcrx", Flows: 4}, 4, 4}, {Cell{RX: "zcrx"}, 1, 1},
		{Cell{RX: "zcrx", Flows: 4, Queues: 2}, 2, 4}, {Cell{RX: "devmem", Flows: 4, Queues: 1}, 1, 4},
		{Cell{RX: "zcrx-nodev", Flows: 4, Queues: 1}, 4, 4},
		{Cell{RX: "zcrx", Flows: 8, Queues: 2, QueueRings: 2}, 4, 8},
		{Cell{RX: "zcrx", Flows: 3, Queues: 1, QueueRings: 4}, 3, 3},
	} {
		if rx, tx := x.cell.NThreads(stream.RX), x.cell.NThreads(stream.TX); rx != x.rx || tx != x.tx {
			t.Errorf("%+v: %d and %d threads", x.cell, rx, tx)
		}
	}
}

// Flows that are steered to a queue that was named come by that one.
func TestNQueues(t *testing.T) {
	for _, x := range []struct {
		cell Cell
		want int
	}{{Cell{RX: "tcp", Flows: 3}, 0}, {Cell{RX: "tcp", Flows: 3, Queue: new(2)}, 1},
		{Cell{RX: "tcp", Flows: 3, Queue: new(2), Queues: 2}, 2}, {Cell{RX: "zcrx", Flows: 3, Queue: new(2)}, 3}} {
		if got := x.cell.NQueues(); got != x.want {
			t.Errorf("%+v: %d queues, want %d", x.cell, got, x.want)
		}
	}
}

// No more CPUs are named than some cell has threads for.
func TestSpareCPUs(t *testing.T) {
	for _, x := range []struct {
		role  stream.Role
		cpus  []int
		cells []Cell
		want  string
	}{
		{stream.RX, []int{2, 3, 4, 5}, []Cell{{RX: "zcrx", Flows: 4, Queues: 1}},
			"4 CPUs are named, but this end has at most 1 thread: name no more than 1, or give the flows more RX " +
				"queues (queues)"},
		{stream.TX, []int{2, 3, 4, 5}, []Cell{{RX: "zcrx", Flows: 4, Queues: 1}}, ""}, // a thread each
		{stream.RX, []int{2, 3}, []Cell{{RX: "zcrx", Flows: 4, Queues: 2}}, ""},
		{stream.RX, []int{2, 3, 4, 5}, []Cell{{RX: "zcrx", Flows: 4, Queues: 1}, {RX: "tcp", Flows: 4, Queues: 1}}, ""},
		{stream.RX, []int{2, 3, 4}, []Cell{{RX: "tcp"}, {RX: "tcp", Flows: 2}},
			"3 CPUs are named, but this end has at most 2 threads: name no more than 2, or use more flows"},
		{stream.TX, []int{2, 3}, []Cell{{RX: "tcp"}}, "name no more than 1, or use more flows"},
		{stream.RX, []int{2}, []Cell{{RX: "tcp"}}, ""},
		{stream.RX, nil, []Cell{{RX: "tcp"}}, ""},
	} {
		err := SpareCPUs(x.role, x.cpus, x.cells...)
		if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("%s %v: %v, want %q", x.role, x.cpus, err, x.want)
		}
	}
}
