// SPDX-License-Identifier: MIT

package results

import (
	"testing"

	"github.com/zcbench/zcbench/results/metrics"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/machine/measure"
)

// The rows have the kernel's names in theirs, and are described.
func TestDropRows(t *testing.T) {
	h := Host{Probes: &Probes{Drops: &Drops{Packets: new(930.0), Flow: new(900.0), Unnamed: new(0.0), Missing: new(2.0),
		Places: []Drop{
			{Reason: "SOCKET_RCVBUFF", Function: "udp_queue_rcv_one_skb", Where: "udp_queue_rcv_one_skb+0x1c4, eth0",
				Packets: new(900.0), SKBs: new(90.0), Flow: new(900.0)},
			{Reason: "reason 7 of subsystem 3", Packets: new(30.0)},
			{Reason: "NO_SOCKET", Function: "f"}, // from elsewhere, and without figures
		},
		Counted: []DropCounter{{"udp_rcvbuf_errors", "UdpRcvbufErrors", new(92.0)}}}}}
	const probe = "eBPF tp_btf/kfree_skb"
	want := []measure.Metric{
		{Name: "drop_packets", Unit: "packets", Value: 930, Source: probe},
		{Name: "drop_flow_packets", Unit: "packets", Value: 900, Source: probe},
		{Name: "drop_unnamed_packets", Unit: "packets", Source: probe},
		{Name: "drop_unattributed_packets", Unit: "packets", Value: 2, Source: probe},
		{Name: "drop_socket_rcvbuff_at_udp_queue_rcv_one_skb_packets", Unit: "packets", Value: 900,
			Source: probe + "; udp_queue_rcv_one_skb+0x1c4, eth0"},
		{Name: "drop_reason_7_of_subsystem_3_at_unknown_place_packets", Unit: "packets", Value: 30,
			Source: probe + "; "},
		{Name: "drop_counted_udp_rcvbuf_errors", Unit: "packets", Value: 92, Source: "counters: UdpRcvbufErrors"},
	}
	got := h.Rows()
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, m := range got {
		if err := metrics.CheckRow(m.Name, m.Unit, m.Source); err != nil {
			t.Error(err)
		}
	}
	if rows := (&Probes{}).rows(); len(rows) > 0 {
		t.Errorf("nobody looked for drops, and there are %v", rows)
	}
}
