// SPDX-License-Identifier: MIT

package ledger

import "testing"

// Of a flow's data is lost what was seen of it to be dropped, and at most what counters tell
// besides; acknowledgements, what TCP itself drops, and other packets are not its loss.
func TestWayLost(t *testing.T) {
	tx := func(n uint64) Counted {
		return Counted{Name: "tx_dropped", Count: n, Reasons: []string{"*@veth_xmit", "FULL_RING"}}
	}
	backlog := func(n uint64) Counted {
		return Counted{Name: "softnet_dropped", Count: n, Reasons: []string{"CPU_BACKLOG"}}
	}
	for _, x := range []struct {
		name        string
		way         Way
		least, most uint64
	}{
		{"nothing", Way{Sends: true, Counted: []Counted{qdisc(0), tx(0)}}, 0, 0},
		{"a full queue, all seen", Way{Sends: true, MaxSegments: 44, Counted: []Counted{qdisc(10)},
			Flow: []Drop{{"QDISC_DROP", "tbf_enqueue", 140, 10}}}, 140, 140},
		{"one was not seen", Way{Sends: true, MaxSegments: 44, Counted: []Counted{qdisc(10)},
			Flow: []Drop{{"QDISC_DROP", "tbf_enqueue", 126, 9}}}, 126, 170},
		{"others' packets", Way{Sends: true, MaxSegments: 44, Counted: []Counted{qdisc(10)},
			Flow: []Drop{{"QDISC_DROP", "tbf_enqueue", 40, 4}}, Others: []Drop{{"QDISC_DROP", "tbf_enqueue", 6, 6}}},
			40, 40},
		{"a sender's reading is of acknowledgements", Way{Sends: true, MaxSegments: 44, Counted: []Counted{backlog(10)},
			Flow: []Drop{{"CPU_BACKLOG", "enqueue_to_backlog", 10, 10}}}, 0, 0},
		{"a receiver's", Way{MaxSegments: 44, Counted: []Counted{backlog(10), qdisc(7)},
			Flow: []Drop{{"CPU_BACKLOG", "enqueue_to_backlog", 12, 10}, {"QDISC_DROP", "tbf_enqueue", 7, 7}}}, 12, 12},
		{"what TCP drops has come",
			Way{Counted: []Counted{{Name: "tcp_backlog_drops", Count: 5, Reasons: []string{"SOCKET_BACKLOG"}}},
				Flow: []Drop{{"SOCKET_BACKLOG", "tcp_add_backlog", 50, 5}, {"TCP_OLD_DATA", "tcp_data_queue", 3, 3}}},
			0, 0},
		{"no counter has it", Way{Flow: []Drop{{"TC_INGRESS", "sch_handle_ingress", 25, 25}}}, 25, 25},
		{"of either direction", Way{Flow: []Drop{{"NETFILTER_DROP", "nf_hook_slow", 25, 25}}}, 0, 25},
		{"the NIC had no room: no super-packets yet",
			Way{MaxSegments: 44, Counted: []Counted{{Name: "rx_missed", Count: 9}}}, 0, 9},
		{"found no room in the probe's table", Way{Sends: true, Unnamed: 4}, 0, 4},
		{"datagrams", Way{MaxSegments: 44, Counted: []Counted{rcvbuf(9)}}, 0, 0},
	} {
		if l := x.way.Lost(); l.Least != x.least || l.Most != x.most || l.Refused != 0 {
			t.Errorf("%s: %+v, want %d to %d", x.name, l, x.least, x.most)
		}
	}
}

// What a veth counts as dropped and nobody saw may be what the other end's backlog refused, and is
// told apart; what was seen to be dropped at the veth is not.
func TestWayRefused(t *testing.T) {
	w := Way{Sends: true, MaxSegments: 44, Refused: 10,
		Counted: []Counted{{Name: "tx_dropped", Count: 12, Reasons: []string{"*@veth_xmit", "FULL_RING"}}},
		Flow:    []Drop{{"NOT_SPECIFIED", "veth_xmit", 20, 5}}}
	if l := w.Lost(); l != (lost{Least: 20, Most: 20 + 7*44, Refused: 7, RefusedMost: 7 * 44}) {
		t.Errorf("%+v", l)
	}
	if w.Refused = 3; w.Lost().Refused != 3 || w.Lost().RefusedMost != 3*44 {
		t.Errorf("other interfaces' are among them: %+v", w.Lost())
	}
	r := Way{MaxSegments: 44, Refused: 10,
		Counted: []Counted{{Name: "softnet_dropped", Count: 9, Reasons: []string{"CPU_BACKLOG"}}},
		Flow:    []Drop{{"CPU_BACKLOG", "enqueue_to_backlog", 30, 8}}}
	if l := r.Lost(); l != (lost{Least: 30, Most: 30 + 44, Backlog: 9}) {
		t.Errorf("%+v", l)
	}
}
