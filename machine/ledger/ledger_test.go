// SPDX-License-Identifier: MIT

package ledger

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func rcvbuf(n uint64) Counted {
	return Counted{Name: "udp_rcvbuf_errors", Count: n, Reasons: []string{"SOCKET_RCVBUFF"}}
}

func qdisc(n uint64) Counted {
	return Counted{Name: "qdisc_drops", Count: n, Reasons: []string{"QDISC_*"}}
}

func TestBalance(t *testing.T) {
	full := Drop{"SOCKET_RCVBUFF", "udp_queue_rcv_one_skb", 900, 900}
	for _, x := range []struct {
		name                        string
		ledger                      Ledger
		leftLeast, leftMost         int64
		attributed                  uint64
		unattributed                int64
		closes                      bool
		rows, uncounted, share, all int // share in percent
	}{
		{name: "nothing was lost", ledger: Ledger{Sent: 10, Received: 10, Counted: []Counted{rcvbuf(0)}}, closes: true,
			share: 100},
		{name: "all is counted and seen", ledger: Ledger{Sent: 1000, Received: 100,
			Counted: []Counted{rcvbuf(900), qdisc(0)}, Drops: []Drop{full}},
			closes: true, attributed: 900, rows: 1, share: 100},
		{name: "all is counted, some events were lost", ledger: Ledger{Sent: 1000, Received: 100,
			Counted: []Counted{rcvbuf(900)},
			Drops:   []Drop{{"SOCKET_RCVBUFF", "udp_queue_rcv_one_skb", 891, 891}}}, closes: true, attributed: 891,
			unattributed: 9, rows: 1, share: 99},
		{name: "nobody knows", ledger: Ledger{Sent: 1000, Received: 900, Counted: []Counted{rcvbuf(90)}},
			leftLeast: 10, leftMost: 10, unattributed: 100, rows: 1},
		{name: "a reason that no counter has", ledger: Ledger{Sent: 1000, Received: 0, Counted: []Counted{rcvbuf(900)},
			Drops: []Drop{full, {"NETFILTER_DROP", "nf_hook_slow", 100, 100}}}, leftLeast: 100, leftMost: 100,
			attributed: 1000, rows: 1, uncounted: 1, share: 100},
		{name: "counted twice", ledger: Ledger{Sent: 100, Received: 90, Counted: []Counted{rcvbuf(10), qdisc(10)}},
			leftLeast: -10, leftMost: -10, unattributed: 10, rows: 2},
		{name: "packets of somebody else were dropped, too", ledger: Ledger{Sent: 1000, Received: 110,
			Counted: []Counted{rcvbuf(890)}, Drops: []Drop{full}},
			closes: true, attributed: 890, rows: 1, share: 100},
		{name: "more was received than sent", ledger: Ledger{Sent: 10, Received: 12}, leftLeast: -2, leftMost: -2,
			unattributed: -2, share: 100},
		{name: "the reasons of a subsystem", ledger: Ledger{Sent: 30, Counted: []Counted{qdisc(30)},
			Drops: []Drop{{"QDISC_DROP_OVERLIMIT", "tbf_enqueue", 20, 20}, {"QDISC_BURST_DROP", "__dev_queue_xmit", 10,
				10}}}, closes: true, attributed: 30, rows: 1, share: 100},
		{name: "a reason at one place alone",
			ledger: Ledger{Sent: 30,
				Counted: []Counted{{Name: "tx_dropped", Count: 20, Reasons: []string{"*@veth_xmit"}}},
				Drops:   []Drop{{"NOT_SPECIFIED", "veth_xmit", 20, 20}, {"NOT_SPECIFIED", "elsewhere", 10, 10}}},
			leftLeast: 10, leftMost: 10, attributed: 30, rows: 1, uncounted: 1, share: 100},

		// 1450 super-packets of 32, as UDP_GRO had them: the counter has 1450.
		{name: "super-packets, all seen", ledger: Ledger{Sent: 64_000, Received: 17_600, SuperPackets: true,
			MaxSegments: 64, Counted: []Counted{rcvbuf(1450)},
			Drops: []Drop{{"SOCKET_RCVBUFF", "udp_queue_rcv_one_skb", 46_400, 1450}}}, closes: true, attributed: 46_400,
			rows: 1, share: 100},
		{name: "super-packets, ten not seen", ledger: Ledger{Sent: 64_000, Received: 17_600, SuperPackets: true,
			MaxSegments: 64, Counted: []Counted{rcvbuf(1450)},
			Drops: []Drop{{"SOCKET_RCVBUFF", "udp_queue_rcv_one_skb", 46_080, 1440}}}, leftLeast: 320 - 640,
			leftMost: 320 - 10, attributed: 46_080, unattributed: 320, rows: 1, share: 99},
		{name: "super-packets, none seen", ledger: Ledger{Sent: 640, Received: 0, SuperPackets: true, MaxSegments: 64,
			Counted: []Counted{rcvbuf(10)}},
			leftLeast: 0, leftMost: 630, unattributed: 640, rows: 1},
		{name: "super-packets, more seen than counted", ledger: Ledger{Sent: 640, Received: 0, SuperPackets: true,
			MaxSegments: 64, Counted: []Counted{rcvbuf(9)},
			Drops: []Drop{{"SOCKET_RCVBUFF", "udp_queue_rcv_one_skb", 640, 10}}}, leftLeast: 0, leftMost: 631,
			attributed: 640, rows: 1, share: 100},
	} {
		t.Run(x.name, func(t *testing.T) {
			b := x.ledger.Add()
			if b.LeftLeast != x.leftLeast || b.LeftMost != x.leftMost || b.Closes() != x.closes {
				t.Errorf("left %d to %d, closes %v; want %d to %d, %v", b.LeftLeast, b.LeftMost, b.Closes(),
					x.leftLeast, x.leftMost, x.closes)
			}
			if b.Attributed != x.attributed || b.Unattributed != x.unattributed || int(100*b.Share()+1e-9) != x.share {
				t.Errorf("%d attributed, %d not, share %g; want %d, %d, %d %%", b.Attributed, b.Unattributed, b.Share(),
					x.attributed, x.unattributed, x.share)
			}
			if len(b.Rows) != x.rows || len(b.Uncounted) != x.uncounted {
				t.Errorf("rows %+v, uncounted %+v", b.Rows, b.Uncounted)
			}
		})
	}
}

// A drop that two counters could tell is the first one's.
func TestClaimedOnce(t *testing.T) {
	l := Ledger{Sent: 20, Counted: []Counted{{Name: "first", Count: 10, Reasons: []string{"A"}},
		{Name: "second", Count: 10, Reasons: []string{"A", "B"}}},
		Drops: []Drop{{"A", "f", 12, 12}, {"B", "g", 8, 8}}}
	b := l.Add()
	want := []Row{
		{Counted: l.Counted[0], Least: 10, Most: 10, Attributed: 10, Beyond: 2, Why: l.Drops[:1]},
		{Counted: l.Counted[1], Least: 10, Most: 10, Attributed: 8, Why: l.Drops[1:]},
	}
	if d := cmp.Diff(want, b.Rows); d != "" {
		t.Error(d)
	}
	if l.Add(); len(l.Drops) != 2 {
		t.Error("to add a ledger up changed it")
	}
}
