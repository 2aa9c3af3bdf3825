// SPDX-License-Identifier: MIT

package ssh

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"
)

// Of the kernel's tables connections with a peer and a holder count: no listener, none that is
// over, and none that nobody has accepted. An IPv4 address within IPv6 is an IPv4 address.
func TestAddConnections(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the tables are of a little-endian machine")
	}
	const four = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 01004D0A:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 21340 1 0000000000000000 100 0 0 10 0
   1: 01004D0A:0016 02004D0A:D2A4 01 00000000:00000000 02:000A7214 00000000  1000        0 21341 2 0000000000000000 20 4 30 10 -1
   2: 01004D0A:0016 03004D0A:D2A6 06 00000000:00000000 03:00000CA2 00000000     0        0 0 3 0000000000000000
   3: 01004D0A:0016 04004D0A:D2A8 01 00000000:00000000 00:00000000 00000000     0        0 0 1 0000000000000000 20 4 30 10 -1
`
	const six = `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: B80D0120000000000000000001000000:0016 B80D01200000000000000000EFBEADDE:D2A4 01 00000000:00000000 00:00000000 00000000     0        0 21342 1 0000000000000000 20 4 30 10 -1
   1: 0000000000000000FFFF00000100007F:0016 0000000000000000FFFF00000200007F:D2A4 01 00000000:00000000 00:00000000 00000000     0        0 21343 1 0000000000000000 20 4 30 10 -1
`
	got := map[uint64]*Link{}
	for _, table := range []string{four, six, ""} {
		if err := addConnections(got, strings.NewReader(table)); err != nil {
			t.Fatal(err)
		}
	}
	want := map[uint64][2]string{21341: {"10.77.0.1", "10.77.0.2"}, 21342: {"2001:db8::1", "2001:db8::dead:beef"},
		21343: {"127.0.0.1", "127.0.0.2"}}
	if len(got) != len(want) {
		t.Errorf("%d connections, want %d", len(got), len(want))
	}
	for inode, w := range want {
		if l := got[inode]; l == nil || l.Here != netip.MustParseAddr(w[0]) || l.Peer != netip.MustParseAddr(w[1]) {
			t.Errorf("%d: %+v, want %q", inode, l, w)
		}
	}
}

// What is no such table is an error that names what is wrong, and never raw.
func TestAddConnectionsRefuses(t *testing.T) {
	for _, x := range []struct{ line, want string }{
		{"0: 01004D0A:0016 02004D0A:D2A4 01", "is no line of a connection"},
		{"0: 01004D:0016 02004D0A:D2A4 01 0:0 0:0 0 0 0 7", `"01004D:0016" is no address`},
		{"0: 01004D0A:0016 02004D0A 01 0:0 0:0 0 0 0 7", `"02004D0A" is no address`},
		{"0: 01004D0A:0016 \x1b2004D0A:1 01 0:0 0:0 0 0 0 7", `"\x1b2004D0A:1" is no address`},
		{"0: 01004D0A:0016 02004D0A:D2A4 01 0:0 0:0 0 0 0 seven", `"seven"`},
	} {
		if err := addConnections(map[uint64]*Link{}, strings.NewReader("names\n"+x.line+"\n")); err == nil ||
			!strings.Contains(err.Error(), x.want) {
			t.Errorf("%q: %v, want %q", x.line, err, x.want)
		}
	}
}
