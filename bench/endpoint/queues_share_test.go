// SPDX-License-Identifier: MIT

package endpoint

import (
	"maps"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/place"
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
