// SPDX-License-Identifier: MIT

package rtnl

import (
	"encoding/binary"
	"net"
	"slices"
	"testing"

	"github.com/mdlayher/netlink"
)

func TestDecodeQdisc(t *testing.T) {
	message := func(index, parent uint32, kind string, offloaded uint8) []byte {
		b := make([]byte, tcmsgLen)
		binary.NativeEndian.PutUint32(b[4:], index)
		binary.NativeEndian.PutUint32(b[12:], parent)
		ae := netlink.NewAttributeEncoder()
		ae.String(tcaKind, kind)
		ae.Uint8(tcaHWOffload, offloaded)
		attrs, err := ae.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return append(b, attrs...)
	}
	for _, want := range []Qdisc{{Kind: "htb", Parent: QdiscRoot, Offloaded: true}, {Kind: "mq", Parent: QdiscRoot},
		{Kind: "fq_codel", Parent: 0x10001}} {
		want.Index = 7
		offloaded := uint8(0)
		if want.Offloaded {
			offloaded = 1
		}
		b := message(7, want.Parent, want.Kind, offloaded)
		if got, err := decodeQdisc(b); got != want || err != nil {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
		for n := range len(b) - 1 {
			_, _ = decodeQdisc(b[:n]) // whatever it says, it returns
		}
		if _, err := decodeQdisc(b[:tcmsgLen-1]); err == nil {
			t.Error("a message without a header was taken")
		}
	}
}

// Every interface that is up has a root qdisc, and those of others are not told.
func TestQdiscs(t *testing.T) {
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	all, err := c.Qdiscs(lo.Index, false)
	if err != nil || lo.Flags&net.FlagUp != 0 &&
		(len(all) != 1 || all[0] != (Qdisc{Index: lo.Index, Kind: "noqueue", Parent: QdiscRoot})) {
		t.Errorf("%+v, %v", all, err)
	}
	if all, err := c.Qdiscs(1<<31-1, false); len(all) != 0 || err != nil {
		t.Errorf("of no interface: %+v, %v", all, err)
	}
}

// qdiscMessage is a qdisc with its counters; wide: with more packets than 32 bits hold.
func qdiscMessage(t testing.TB, wide bool) []byte {
	b := make([]byte, tcmsgLen)
	ne := binary.NativeEndian
	ne.PutUint32(b[4:], 7)
	ne.PutUint32(b[8:], 0x80010000)
	ne.PutUint32(b[12:], QdiscRoot)
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
	want := Qdisc{Index: 7, Kind: "tbf", Handle: 0x80010000, Parent: QdiscRoot, Bytes: 1 << 40, Packets: 1000,
		QLen: 1, Backlog: 2, Drops: 3, Requeues: 4, Overlimits: 5}
	if got, err := decodeQdisc(qdiscMessage(t, false)); got != want || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	want.Packets = 1<<32 + 1000
	if got, err := decodeQdisc(qdiscMessage(t, true)); got != want || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := decodeQdisc(make([]byte, tcmsgLen-1)); err == nil {
		t.Error("a message without a header was taken")
	}
}

// Of each interface that is up the outermost is there, noqueue too.
func TestQdiscsOfAll(t *testing.T) {
	up, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	all, err := Qdiscs()
	if err != nil {
		t.Fatal(err)
	}
	for _, dev := range up {
		if dev.Flags&net.FlagUp != 0 && !slices.ContainsFunc(all,
			func(q Qdisc) bool { return q.Index == dev.Index && q.Parent == QdiscRoot && q.Kind != "" }) {
			t.Errorf("%s has no qdisc in %+v", dev.Name, all)
		}
	}
}

// FuzzDecodeQdiscStats: whatever a message holds is a qdisc or an error.
func FuzzDecodeQdiscStats(f *testing.F) {
	f.Add(qdiscMessage(f, true))
	f.Add([]byte{})
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = decodeQdisc(b) })
}
