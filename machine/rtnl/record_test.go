// SPDX-License-Identifier: MIT

package rtnl

import (
	"bytes"
	"testing"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// What a record has of a link says nothing of whose it is, and all that is read of it.
func TestAnonymous(t *testing.T) {
	secrets := map[uint16][]byte{
		unix.IFLA_IFNAME: []byte("enx0123456789ab\x00"), unix.IFLA_IFALIAS: []byte("rack seven\x00"),
		unix.IFLA_ADDRESS:      {2, 0x42, 0xac, 0x11, 7, 9},
		unix.IFLA_PERM_ADDRESS: {2, 0x42, 0xac, 0x11, 7, 8}, unix.IFLA_PHYS_SWITCH_ID: []byte("switch-serial"),
		unix.IFLA_PHYS_PORT_NAME: []byte("port-name\x00"),
		unix.IFLA_BROADCAST:      {0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe}, unix.IFLA_STATS64: bytes.Repeat([]byte{0x77},
			200),
	}
	ae := netlink.NewAttributeEncoder()
	for kind, b := range secrets {
		ae.Bytes(kind, b)
	}
	ae.Uint32(unix.IFLA_MTU, 9000)
	ae.Uint32(unix.IFLA_TSO_MAX_SIZE, 262144)
	ae.Nested(unix.IFLA_XDP, func(in *netlink.AttributeEncoder) error {
		in.Uint8(unix.IFLA_XDP_ATTACHED, 1)
		return nil
	})
	ae.Nested(unix.IFLA_LINKINFO, func(in *netlink.AttributeEncoder) error {
		in.String(unix.IFLA_INFO_KIND, "bond")
		in.Bytes(unix.IFLA_INFO_DATA, []byte("192.0.2.9, an ARP target"))
		return nil
	})
	attrs, err := ae.Encode()
	if err != nil {
		t.Fatal(err)
	}
	whole := append(ifinfo(7, unix.IFF_UP, 0), attrs...)
	b, err := anonymous(whole)
	if err != nil {
		t.Fatal(err)
	}
	secrets[0] = []byte("192.0.2.9")
	for kind, s := range secrets {
		if bytes.Contains(b, s) {
			t.Errorf("attribute %d is there: %q", kind, s)
		}
	}
	l, err := ParseLink(b)
	if err != nil || l.Index != 7 || l.Name != "if7" || l.Flags&unix.IFF_UP == 0 || l.MTU != 9000 ||
		l.TSOMaxSize != 262144 || !l.XDP || l.Kind != "bond" || l.Stats != nil {
		t.Errorf("%+v, %v", l, err)
	}
	for n := range whole {
		_, _ = anonymous(whole[:n]) // cut off anywhere it is an error or less, no panic
	}
}

func TestWithoutAttrs(t *testing.T) {
	ae := netlink.NewAttributeEncoder()
	ae.Uint32(2, 1)
	ae.Bytes(5, []byte("the key of the hash"))
	ae.Nested(1, func(in *netlink.AttributeEncoder) error { in.String(2, "enx0123456789ab"); return nil })
	ae.Uint8(7, 3)
	b, err := ae.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := WithoutAttrs(b, []uint16{1, 5})
	if err != nil {
		t.Fatal(err)
	}
	ad, err := netlink.NewAttributeDecoder(got)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []uint16
	for ad.Next() {
		kinds = append(kinds, ad.Type())
	}
	if len(kinds) != 2 || kinds[0] != 2 || kinds[1] != 7 || ad.Err() != nil {
		t.Errorf("%v, %v", kinds, ad.Err())
	}
}

func TestAnonymousQdisc(t *testing.T) {
	ae := netlink.NewAttributeEncoder()
	ae.String(1, "htb")
	ae.Bytes(2, []byte("TCA_OPTIONS"))
	ae.Uint8(12, 1)
	attrs, err := ae.Encode()
	if err != nil {
		t.Fatal(err)
	}
	b, err := anonymousQdisc(append(make([]byte, tcmsgBytes), attrs...))
	if err != nil || len(b) != tcmsgBytes+8+8 || bytes.Contains(b, []byte("OPTIONS")) ||
		!bytes.Contains(b, []byte("htb\x00")) {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := anonymousQdisc(make([]byte, tcmsgBytes-1)); err == nil {
		t.Error("a message that is cut off")
	}
}

// Which program is attached is told, where there is one.
func TestXDPProgram(t *testing.T) {
	ae := netlink.NewAttributeEncoder()
	ae.Nested(unix.IFLA_XDP, func(in *netlink.AttributeEncoder) error {
		in.Uint8(unix.IFLA_XDP_ATTACHED, 1)
		in.Uint32(unix.IFLA_XDP_PROG_ID, 77)
		return nil
	})
	attrs, err := ae.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for program, b := range map[uint32][]byte{77: append(ifinfo(7, unix.IFF_UP, 0), attrs...),
		0: ifinfo(7, unix.IFF_UP, 0)} {
		if l, err := ParseLink(b); err != nil || l.XDPProgram != program || l.XDP != (program > 0) {
			t.Errorf("program %d, not %d, %v", l.XDPProgram, program, err)
		}
	}
}
