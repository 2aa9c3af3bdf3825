// SPDX-License-Identifier: MIT

package bpf

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf/btf"
	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/machine/kallsyms"
)

// The names of a kernel's reasons are its own; the number of one that it does not name is
// shown with its subsystem.
func TestDropReasonNames(t *testing.T) {
	r := dropReasons{}
	r.add(&btf.Enum{Values: []btf.EnumValue{{Name: "SKB_CONSUMED", Value: 1}, {Name: "SKB_DROP_REASON_NOT_SPECIFIED",
		Value: 2},
		{Name: "SKB_DROP_REASON_SUBSYS_MASK", Value: 0xffff0000}}}, "SKB_DROP_REASON_")
	r.add(&btf.Enum{Values: []btf.EnumValue{{Name: "QDISC_DROP_UNSPEC", Value: 0},
		{Name: "__QDISC_DROP_REASON", Value: 3 << 16},
		{Name: "QDISC_DROP_OVERLIMIT", Value: 3<<16 + 2}}}, "")
	for reason, want := range map[uint32]string{2: "NOT_SPECIFIED", 3<<16 + 2: "QDISC_DROP_OVERLIMIT", 99: "reason 99",
		3<<16 + 9: "reason 9 of subsystem 3",
		3 << 16:   "reason 0 of subsystem 3", 0xffff0000: "reason 0 of subsystem 65535"} {
		if got := r.name(reason); got != want {
			t.Errorf("%#x: %q, want %q", reason, got, want)
		}
	}
}

// The running kernel says its own.
func TestDropReasonsOfKernel(t *testing.T) {
	r, err := readDropReasons(heldTypes)
	if err != nil {
		t.Skip(err)
	}
	seen := map[string]bool{}
	for _, name := range r {
		seen[name] = true
	}
	for _, name := range []string{"NOT_SPECIFIED", "NO_SOCKET", "SOCKET_RCVBUFF", "QDISC_DROP", "CPU_BACKLOG",
		"TC_EGRESS", "TC_INGRESS"} {
		if !seen[name] {
			t.Errorf("there is no %s among %d reasons", name, len(r))
		}
	}
}

const dropSymbols = "ffffffff81000000 T udp_queue_rcv_one_skb\nffffffff81001000 t " +
	"skb_release_data.part.0\nffffffffa0000000 t tbf_enqueue\t[sch_tbf]\n"

func dropNamesOf(t *testing.T) *dropNames {
	t.Helper()
	symbols, err := kallsyms.Parse(strings.NewReader(dropSymbols))
	if err != nil {
		t.Fatal(err)
	}
	return &dropNames{symbols: symbols, reasons: dropReasons{2: "NOT_SPECIFIED", 6: "SOCKET_RCVBUFF"}}
}

// What the kernel frees as dropped though it was delivered is told from what was lost, by the
// place and the reason together.
func TestNotLost(t *testing.T) {
	n := dropNamesOf(t)
	for _, x := range []struct {
		key      dropKey
		function string
		place    string
		lost     bool
	}{
		{dropKey{Place: 0xffffffff81000010, Reason: 6}, "udp_queue_rcv_one_skb", "udp_queue_rcv_one_skb+0x10", true},
		{dropKey{Place: 0xffffffff81001010, Reason: 2}, "skb_release_data", "skb_release_data.part.0+0x10", false},
		{dropKey{Place: 0xffffffff81001010, Reason: 6}, "skb_release_data", "skb_release_data.part.0+0x10", true},
		{dropKey{Place: 0xffffffff81000010, Reason: 2}, "udp_queue_rcv_one_skb", "udp_queue_rcv_one_skb+0x10", true},
		{dropKey{Place: 0xffffffffa0000020, Reason: 2}, "tbf_enqueue", "tbf_enqueue+0x20 [sch_tbf]", true},
		{dropKey{Place: 0x10, Reason: 2}, "", "?", true},
	} {
		d := n.drop(x.key, dropCount{5, 1})
		if d.Function != x.function || d.Place != x.place || (d.NotLost == "") != x.lost || d.Packets != 5 ||
			d.SKBs != 1 {
			t.Errorf("%+v: %+v", x.key, d)
		}
	}
}

func TestDropReadingSub(t *testing.T) {
	a, b, c := dropKey{Place: 1}, dropKey{Place: 2}, dropKey{Place: 3}
	now := DropReading{map[dropKey]dropCount{a: {10, 5}, b: {7, 7}, c: {1, 1}}, dropCount{9, 9}}
	was := DropReading{map[dropKey]dropCount{a: {4, 2}, b: {7, 7}}, dropCount{2, 1}}
	got := now.Sub(was)
	if len(got.rows) != 2 || got.rows[a] != (dropCount{6, 3}) || got.rows[c] != (dropCount{1, 1}) ||
		got.unnamed != (dropCount{7, 8}) {
		t.Errorf("%+v", got)
	}
	if len(now.rows) != 3 {
		t.Error("a reading was changed")
	}
}

func TestPrintDrops(t *testing.T) {
	table := DropTable{Unnamed: 4, Warning: "no \x1b[31msymbols", Drops: mergeDrops([]Drop{
		{Reason: "NO_SOCKET", Place: "__udp4_lib_rcv+0x8", Interface: "eth0", Netns: "rx", Protocol: "udp", Port: 7,
			Packets: 5, SKBs: 5},
		{Reason: "NO_SOCKET", Place: "__udp4_lib_rcv+0x8", Interface: "eth0", Netns: "rx", Protocol: "udp", Port: 7,
			Packets: 15, SKBs: 1},
		{Reason: "NOT_SPECIFIED", Place: "skb_release_data+0x3", Netns: "rx", Packets: 1000, SKBs: 1000,
			NotLost: "delivered"},
		{Reason: "SOCKET_RCVBUFF", Place: "udp_queue_rcv_one_skb+0x1c4", Interface: "eth0", Netns: "rx", Packets: 300,
			SKBs: 30},
	})}
	if got := table.Packets(); got != 324 {
		t.Errorf("%d packets were lost", got)
	}
	var b bytes.Buffer
	if err := PrintDrops(&b, table, 2*time.Second, true); err != nil {
		t.Fatal(err)
	}
	want := `no \u001b[31msymbols
packets  per s  skbs  reason          place                        interface  to     netns
300      150.0  30    SOCKET_RCVBUFF  udp_queue_rcv_one_skb+0x1c4  eth0       -      rx
20       10.0   6     NO_SOCKET       __udp4_lib_rcv+0x8           eth0       udp 7  rx
4        2.0          for more reasons, places and ports than fit
not lost: 1000 packets, NOT_SPECIFIED at skb_release_data+0x3: delivered
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
	b.Reset()
	if err := PrintDrops(&b, DropTable{Drops: table.Drops[:1]}, time.Second, false); err != nil ||
		strings.Contains(b.String(), "netns") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
