// SPDX-License-Identifier: MIT

package endpoint

import (
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// A flow's softirq CPU on record is the one that its socket named, not the one that was asked for
// it: where the queue of a flow is not known, its packets may come to the CPU of another.
func TestSoftirqOnRecord(t *testing.T) {
	many := map[int]int{4: 2, 5: 98}
	spread := &place.Placement{CPUs: []int{4, 5}}
	queues := &place.Placement{CPUs: []int{4, 5}, Queues: map[int]int{2: 4, 3: 5}}
	for name, x := range map[string]struct {
		place *place.Placement
		queue *int
		looks map[int]int
		asked *int
		host  string // CPUs that processed the host's packets
		want  int    // -1: not known
		all   string // where a good part of it ran
	}{
		"that of another flow":    {spread, nil, many, new(4), "4-5", 5, "5"},
		"on both":                 {spread, nil, map[int]int{4: 50, 5: 50}, new(4), "4-5", -1, "4-5"},
		"on both, most of others": {spread, nil, map[int]int{4: 50, 5: 50}, new(4), "5", -1, "4-5"},
		"too few looks":           {spread, nil, map[int]int{5: 3}, new(4), "4-5", -1, ""},
		"its queue's":             {queues, new(3), many, new(5), "4-5", 5, "5"},
		"its queue's, not seen":   {queues, new(3), nil, new(5), "4-5", 5, "5"},
		"not its queue's":         {queues, new(2), many, new(4), "4-5", 5, "5"},
		"as found":                {nil, nil, nil, nil, "3", 3, "3"},
		"as found, several":       {nil, nil, nil, nil, "3,4", -1, ""},
		"as found, seen":          {nil, nil, map[int]int{0: 99, 1: 1}, nil, "3,4", 0, "0"},
		"as found, seen on two":   {nil, nil, map[int]int{0: 60, 1: 35, 2: 5}, nil, "3", -1, "0-1"},
		"nothing comes":           {nil, nil, nil, new(4), "3", -1, ""},
	} {
		r := &run{end: newEnd(several(wire.EndSpec{Role: stream.RX, Cell: plan.Cell{RX: "tcp"}}, 2),
			stream.Mode{Name: "tcp", Role: stream.RX}, stream.Options{})}
		if x.place != nil {
			r.end.places = map[string]*place.Placement{"": x.place}
		}
		r.from.flows, r.to.flows = make([]stream.Counters, 2), make([]stream.Counters, 2)
		for i, f := range r.end.flows {
			r.end.spec.Flows[i].SoftirqCPU = x.asked
			f.Queue, f.looks, f.worker = x.queue, x.looks, &worker{own: []*flow{f}}
		}
		var h results.Host
		r.fillEach(&h, counter.Change{NetRXCPUs: x.host}, 1)
		got := -1
		if cpu := h.Flows[0].SoftirqCPU; cpu != nil {
			got = *cpu
		}
		if all := counter.FormatCPUList(h.Flows[0].SoftirqCPUs); got != x.want || all != x.all {
			t.Errorf("%s: softirq on CPU %d, in all %s; want %d, %s", name, got, all, x.want, x.all)
		}
	}
}
