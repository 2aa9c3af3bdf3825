// SPDX-License-Identifier: MIT

package rtnl

import (
	"encoding/binary"
	"testing"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

func neighbourMessage(t *testing.T, state uint16, mac []byte) []byte {
	t.Helper()
	b := make([]byte, unix.SizeofNdMsg)
	binary.NativeEndian.PutUint16(b[8:], state)
	ae := netlink.NewAttributeEncoder()
	ae.Bytes(unix.NDA_DST, []byte{10, 0, 0, 1})
	if mac != nil {
		ae.Bytes(unix.NDA_LLADDR, mac)
	}
	a, err := ae.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return append(b, a...)
}

func TestParseNeighbour(t *testing.T) {
	mac := []byte{2, 0, 0, 0, 0, 9}
	for _, x := range []struct {
		what string
		b    []byte
		want string
	}{
		{"reachable", neighbourMessage(t, unix.NUD_REACHABLE, mac), "02:00:00:00:00:09"},
		{"stale", neighbourMessage(t, unix.NUD_STALE, mac), "02:00:00:00:00:09"},
		{"being asked for", neighbourMessage(t, unix.NUD_INCOMPLETE, nil), ""},
		{"failed", neighbourMessage(t, unix.NUD_FAILED, mac), ""},
		{"on a link without addresses", neighbourMessage(t, unix.NUD_NOARP, nil), ""},
		{"with a longer address", neighbourMessage(t, unix.NUD_REACHABLE, make([]byte, 20)), ""},
	} {
		got, err := parseNeighbour(x.b)
		if err != nil || got.String() != x.want {
			t.Errorf("%s: %q, %v; want %q", x.what, got, err, x.want)
		}
	}
	for n := range unix.SizeofNdMsg {
		if _, err := parseNeighbour(make([]byte, n)); err == nil {
			t.Errorf("a message of %d bytes is taken", n)
		}
	}
}

func FuzzParseNeighbour(f *testing.F) {
	f.Add(make([]byte, 40))
	f.Fuzz(func(t *testing.T, b []byte) {
		if mac, err := parseNeighbour(b); err == nil && mac != nil && len(mac) != 6 {
			t.Errorf("%q is no Ethernet address", mac)
		}
	})
}
