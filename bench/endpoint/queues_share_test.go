// SPDX-License-Identifier: MIT

package endpoint

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
)

// All ends that have turns want the same of the interface, whichever queues are theirs: queue by
// queue the CPUs of the flows. One flow wants all of it on one CPU.
func TestPlacedTogether(t *testing.T) {
	for flows, want := range map[int]map[int]int{2: {4: 8, 5: 9, 6: 8, 7: 9}, 1: nil} {
		for from := range 3 {
			q := &wire.QueueShare{All: 4, Each: flows, Own: flows, From: from}
			e := &End{spec: wire.EndSpec{Beside: q}, flows: make([]*flow, flows),
				opts: stream.Options{NIC: stream.NICQueue{Beside: []int{4, 5, 6, 7}}}}
			w := place.On([]int{8, 9}[:flows]...)
			if e.wantOfAll(&w); !maps.Equal(w.Queues, want) {
				t.Errorf("%d flows: queues %v, want %v", flows, w.Queues, want)
			}
		}
	}
}

// Flows of a queue are spread over its rings, each of which is a thread; the first ring of a queue
// is there before its others, and all of a queue know each other.
func TestSharesOfRings(t *testing.T) {
	cell := plan.Cell{RX: "zcrx", Flows: 8, Queues: 2, QueueRings: 2, RingsIn: plan.RingsProcesses}
	s := wire.EndSpec{Role: stream.RX, Cell: cell, Flows: onQueues(make([]wire.FlowSpec, 8), []int{6, 7})}
	mode, err := modes.Find(stream.RX, "zcrx")
	if err != nil {
		t.Fatal(err)
	}
	e := newEnd(s, mode, stream.Options{})
	var got []string
	for _, own := range e.shares() {
		nic, flows := own[0].opts.NIC, []int{}
		for _, f := range own {
			flows = append(flows, f.N)
		}
		got = append(got, fmt.Sprintf("queue %d ring %d of %d: %d", *nic.Queue, nic.Ring, nic.Rings.N, flows))
		if other := e.flows[own[0].N%2].opts.NIC.Rings; nic.Rings != other || !other.Processes {
			t.Errorf("flow %d: %p, %+v", own[0].N, nic.Rings, other)
		}
		for _, f := range own {
			if f.N%cell.NThreads(stream.RX) != own[0].N { // so CPUs are given to threads
				t.Errorf("flow %d is in the thread of %d", f.N, own[0].N)
			}
		}
	}
	want := []string{"queue 6 ring 0 of 2: [0 4]", "queue 7 ring 0 of 2: [1 5]", "queue 6 ring 1 of 2: [2 6]",
		"queue 7 ring 1 of 2: [3 7]"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Flows get their end's part of the queues, in turn.
func TestOnQueues(t *testing.T) {
	var got []int
	for _, f := range onQueues(make([]wire.FlowSpec, 4), []int{6, 7}) {
		got = append(got, *f.Queue)
	}
	if len(got) != 4 || got[0] != 6 || got[1] != 7 || got[2] != 6 || got[3] != 7 {
		t.Errorf("queues %v", got)
	}
	for _, bad := range []wire.QueueShare{{}, {All: 1, Each: 2}, {All: 2, Each: 1, Own: 2, From: 1},
		{All: 2, Each: 1, Own: -1}, {All: 1 << 20, Each: 1}, {All: 2, Each: 1, Own: 1, From: 1 << 62}} {
		if bad.Check() == nil {
			t.Errorf("%+v is a part of the whole", bad)
		}
	}
}
