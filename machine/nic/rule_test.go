// SPDX-License-Identifier: MIT

package nic

import (
	"bytes"
	"net/netip"
	"testing"
)

// A rule is for one flow alone, both addresses and both ports of it: with less, a driver that
// takes no such rule would get one that takes the flows of others too.
func TestRuleIsForOneFlow(t *testing.T) {
	at := netip.MustParseAddrPort
	for local, remote := range map[string]string{"10.0.0.1:5201": "10.0.0.2:40000", "[fd00::1]:5201": "[fd00::2]:40000"} {
		l, r := at(local), at(remote)
		fs := spec(l, r)
		var want []byte
		for _, part := range [][]byte{r.Addr().AsSlice(), l.Addr().AsSlice(), {0x9c, 0x40}, {0x14, 0x51}} {
			want = append(want, part...)
		}
		full := bytes.Repeat([]byte{0xff}, len(want))
		if got := fs.tuple(fs.want); !bytes.Equal(got, want) {
			t.Errorf("%s: for %x, want %x", local, got, want)
		}
		if !bytes.Equal(fs.tuple(fs.mask), full) || len(bytes.Trim(fs.mask[len(full):], "\x00")) > 0 {
			t.Errorf("%s: masks %x", local, fs.mask)
		}
	}
}
