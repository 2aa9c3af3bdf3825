// SPDX-License-Identifier: MIT

package bench

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/plan"
)

// A far agent that tells no RX queues, be it by an empty list, has told nothing: the flows' queues
// are not known, or those that were named.
func TestQueuesNotTold(t *testing.T) {
	for _, told := range []string{"", `, "rx_queues": null`, `, "rx_queues": []`} {
		f := wire.Interface{}
		if err := json.Unmarshal([]byte(`{"name": "eth0", "mtu": 1500`+told+`}`), &f); err != nil {
			t.Fatal(err)
		}
		if err := f.Check(); err != nil {
			t.Fatal(err)
		}
		o := Options{SUTDev: "eth0"}
		o.lookAround(0, twoSockets("a"), []string{"eth0"}, []wire.Interface{f})
		for _, x := range []struct {
			cell plan.Cell
			want []int
		}{
			{plan.Cell{RX: "zcrx", TX: "tcp"}, nil},
			{plan.Cell{RX: "zcrx", TX: "tcp", Flows: 2}, nil},
			{plan.Cell{RX: "tcp", TX: "tcp", Queue: new(3)}, []int{3}},
		} {
			ids, err := o.flowQueues(x.cell)
			if err != nil || !slices.Equal(ids, x.want) || o.tooFewQueues(x.cell) != nil {
				t.Errorf("%q: %+v: queues %v, error %v", told, x.cell, ids, err)
			}
		}
	}
}
