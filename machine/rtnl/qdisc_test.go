// SPDX-License-Identifier: MIT

package rtnl

import (
	"encoding/binary"
	"net"
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
	for _, want := range []Qdisc{{"htb", true, true}, {"mq", true, false}, {"fq_codel", false, false}} {
		parent, offloaded := uint32(0x10001), uint8(0)
		if want.Root {
			parent = tcRoot
		}
		if want.Offloaded {
			offloaded = 1
		}
		b := message(7, parent, want.Kind, offloaded)
		if index, got, err := decodeQdisc(b); index != 7 || got != want || err != nil {
			t.Errorf("%d %+v, %v; want %+v", index, got, err, want)
		}
		for n := range len(b) - 1 {
			_, _, _ = decodeQdisc(b[:n]) // whatever it says, it returns
		}
		if _, _, err := decodeQdisc(b[:tcmsgLen-1]); err == nil {
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
	all, err := c.Qdiscs(lo.Index)
	if err != nil || lo.Flags&net.FlagUp != 0 && (len(all) != 1 || all[0] != (Qdisc{Kind: "noqueue", Root: true})) {
		t.Errorf("%+v, %v", all, err)
	}
	if all, err := c.Qdiscs(1<<31 - 1); len(all) != 0 || err != nil {
		t.Errorf("of no interface: %+v, %v", all, err)
	}
}
