// SPDX-License-Identifier: MIT

package endpoint

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/machine/ledger"
	"github.com/zcbench/zcbench/results"
)

// Rows that differ in interface and port alone are one; what was delivered is no drop; what a
// counter has and nobody saw is said.
func TestDropTable(t *testing.T) {
	got := dropTable(bpf.DropTable{Unnamed: 3, Drops: []bpf.Drop{
		{Reason: "CPU_BACKLOG", Function: "enqueue_to_backlog", Place: "enqueue_to_backlog+0x1", Interface: "a",
			Port: 7, Packets: 10, SKBs: 10},
		{Reason: "CPU_BACKLOG", Function: "enqueue_to_backlog", Place: "enqueue_to_backlog+0x1", Interface: "b",
			Packets: 40, SKBs: 4},
		{Reason: "TCP_OFO_DROP", Function: "f", Place: "f+0x2", Interface: "a", Port: 7, Packets: 20, SKBs: 20},
		{Reason: "NOT_SPECIFIED", Function: "skb_release_data", Packets: 1000, SKBs: 1000, NotLost: "delivered"},
	}}, []ledger.Counted{{Name: "softnet_dropped", Source: "softnet_stat", Count: 16, Reasons: []string{"CPU_BACKLOG"}},
		{Name: "rx_dropped"}}, 7)
	want := &results.Drops{Packets: new(73.0), Flow: new(30.0), Unnamed: new(3.0), NotLost: new(1000.0),
		Missing: new(2.0),
		Places: []results.Drop{
			{Reason: "CPU_BACKLOG", Function: "enqueue_to_backlog", Where: "enqueue_to_backlog+0x1, a, b",
				Packets: new(50.0), SKBs: new(14.0), Flow: new(10.0)},
			{Reason: "TCP_OFO_DROP", Function: "f", Where: "f+0x2, a", Packets: new(20.0), SKBs: new(20.0),
				Flow: new(20.0)},
		},
		Counted: []results.DropCounter{{Name: "softnet_dropped", Source: "softnet_stat", Value: new(16.0)}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	var many []bpf.Drop
	for i := range 3 * mostPlaces {
		many = append(many, bpf.Drop{Reason: "R", Function: string(rune('a' + i)), Packets: 1, SKBs: 1})
	}
	if got := dropTable(bpf.DropTable{Drops: many}, nil, 0); len(got.Places) != mostPlaces ||
		*got.Unnamed != 2*mostPlaces || *got.Packets != 3*mostPlaces || got.Flow != nil {
		t.Errorf("%d rows, %g in none, %g in all", len(got.Places), *got.Unnamed, *got.Packets)
	}
}

func TestDataPort(t *testing.T) {
	for addr, want := range map[string]uint16{"10.0.0.1:7799": 7799, "[fd00::1]:80": 80, "": 0, "10.0.0.1": 0} {
		if got := dataPort(wire.EndSpec{Addr: addr}, nil); got != want {
			t.Errorf("%q: %d, want %d", addr, got, want)
		}
	}
}
