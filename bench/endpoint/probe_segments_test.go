// SPDX-License-Identifier: MIT

package endpoint

import (
	"os"
	"testing"

	"github.com/zcbench/zcbench/results/metrics"

	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/ledger"
	"github.com/zcbench/zcbench/results"
)

// Each end tells of its part of the way: what its sockets sent or received, and what was dropped
// of it there.
func TestSegmentsOf(t *testing.T) {
	info := func(fields map[string]uint64) (i counter.TCPInfo) {
		for name, v := range fields {
			i.Fields = append(i.Fields, counter.TCPField{Name: name, Value: v})
		}
		return i
	}
	drops := bpf.DropTable{Drops: []bpf.Drop{
		{Reason: "QDISC_DROP", Function: "tbf_enqueue", Port: 7, Packets: 44, SKBs: 4},
		{Reason: "QDISC_DROP", Function: "tbf_enqueue", Packets: 3, SKBs: 3},
		{Reason: "TC_INGRESS", Function: "f", Port: 7, Packets: 5, SKBs: 5},
		{Reason: "TC_INGRESS", Function: "skb_release_data", Port: 7, Packets: 1000, SKBs: 1000, NotLost: "delivered"},
	}}
	counted := []ledger.Counted{{Name: "qdisc_drops", Count: 8, Reasons: []string{"QDISC_*"}}}
	two := []counter.TCPInfo{info(map[string]uint64{"data_segs_out": 900, "data_segs_in": 1, "total_retrans": 40,
		"snd_mss": 65535, "rcv_mss": 65535}),
		info(map[string]uint64{"data_segs_out": 100, "data_segs_in": 2, "total_retrans": 5, "snd_mss": 65535,
			"rcv_mss": 65535})}
	tx := segmentsOf(drops, ledger.Way{Sends: true, Counted: counted}, two, 7)
	// one was not seen, of at most 9
	if *tx.Sent != 1000 || *tx.Retransmitted != 45 || tx.Received != nil || *tx.NamedLeast != 44 ||
		*tx.NamedMost != 44+9 {
		t.Errorf("sender: %g sent, %g again, %g to %g dropped", *tx.Sent, *tx.Retransmitted, *tx.NamedLeast,
			*tx.NamedMost)
	}
	rx := segmentsOf(drops, ledger.Way{Counted: counted}, two, 7)
	if rx.Sent != nil || *rx.Received != 3 || *rx.NamedLeast != 5 || *rx.NamedMost != 5 {
		t.Errorf("receiver: %+v", rx)
	}
	if old := segmentsOf(drops, ledger.Way{Sends: true, Counted: counted},
		[]counter.TCPInfo{info(map[string]uint64{"total_retrans": 1})}, 7); old.Sent != nil ||
		old.Retransmitted == nil {
		t.Errorf("a kernel that does not count segments: %+v", old)
	}
	if (*probes)(nil).segments(true) != nil {
		t.Error("without a probe there is an account")
	}
}

// Over loopback everything that is sent comes, and the account closes.
func TestIntegrationSegments(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	rx, tx := rxSpec("tcp", 64*kib), txSpec("tcp", 64*kib)
	rx.Cell.Probe, tx.Cell.Probe = "drops", "drops"
	r, s := flowUntil(t, rx, tx, moved(16*mib))
	segments := func(h *results.Host) *results.DropSegments {
		if h.Probes == nil || h.Probes.Drops == nil || h.Probes.Drops.Segments == nil {
			t.Fatalf("no account: %+v", h.Probes)
		}
		return h.Probes.Drops.Segments
	}
	sent, received := segments(&s.Host), segments(&r.Host)
	if !sent.Balance(received, true) || sent.Lost == nil || *sent.Unattributed != 0 || *sent.Sent < 10 ||
		*received.Received != *sent.Sent-*sent.Lost {
		t.Errorf("sent %+v, received %+v", sent, received)
	}
	for _, m := range s.Host.Rows() {
		if err := metrics.CheckRow(m.Name, m.Unit, m.Source); err != nil {
			t.Error(err)
		}
	}
}
