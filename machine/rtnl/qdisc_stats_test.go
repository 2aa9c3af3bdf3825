// SPDX-License-Identifier: MIT

package rtnl

import (
	"encoding/binary"
	"net"
	"testing"

	"github.com/mdlayher/netlink"
)

// qdiscMessage is a qdisc with its counters; wide: with more packets than 32 bits hold.
func qdiscMessage(t testing.TB, wide bool) []byte {
	b := make([]byte, tcmsgLen)
	ne := binary.NativeEndian
	ne.PutUint32(b[4:], 7)
	ne.PutUint32(b[8:], 0x80010000)
	ne.PutUint32(b[12:], tcRoot)
	ae := netlink.NewAttributeEncoder()
	ae.String(tcaKind, "tbf")
	ae.Nested(tcaStats2, func(n *netlink.AttributeEncoder) error {
		basic := ne.AppendUint32(ne.AppendUint64(nil, 1<<40), 1000)
		n.Bytes(statsBasic, append(basic, 0, 0, 0, 0)) // the kernel's struct has a gap at its end
		if wide {
			n.Bytes(statsPkt64, ne.AppendUint64(nil, 1<<32+1000))
		}
		var queue []byte
		for i := range uint32(queueFields) {
			queue = ne.AppendUint32(queue, i+1)
		}
		n.Bytes(statsQueue, queue)
		return nil
	})
	attrs, err := ae.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return append(b, attrs...)
}

func TestDecodeQdiscStats(t *testing.T) {
	want := QdiscStats{Kind: "tbf", Handle: 0x80010000, Parent: QdiscRoot, Bytes: 1 << 40, Packets: 1000,
		QLen: 1, Backlog: 2, Drops: 3, Requeues: 4, Overlimits: 5}
	if index, got, err := decodeQdiscStats(qdiscMessage(t, false)); index != 7 || got != want || err != nil {
		t.Errorf("%d %+v, %v", index, got, err)
	}
	want.Packets = 1<<32 + 1000
	if _, got, err := decodeQdiscStats(qdiscMessage(t, true)); got != want || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if _, _, err := decodeQdiscStats(make([]byte, tcmsgLen-1)); err == nil {
		t.Error("a message without a header was taken")
	}
}

// Of each interface that is up the outermost is there, noqueue too.
func TestRootQdiscs(t *testing.T) {
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	all, err := RootQdiscs()
	if err != nil || lo.Flags&net.FlagUp != 0 && all[lo.Index].Kind != "noqueue" {
		t.Errorf("%+v, %v", all, err)
	}
	for index, q := range all {
		if q.Parent != QdiscRoot {
			t.Errorf("of interface %d: %+v", index, q)
		}
	}
}

// FuzzDecodeQdiscStats: whatever a message holds is a qdisc or an error.
func FuzzDecodeQdiscStats(f *testing.F) {
	f.Add(qdiscMessage(f, true))
	f.Add([]byte{})
	f.Fuzz(func(_ *testing.T, b []byte) { _, _, _ = decodeQdiscStats(b) })
}
