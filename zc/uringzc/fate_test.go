// SPDX-License-Identifier: MIT

package uringzc

import (
	"strings"
	"testing"
)

// Notifications as the kernel sends them, C: of one that says copied.
func TestFates(t *testing.T) {
	for _, x := range []struct {
		name, flags string
		size        uint64
		want        string
	}{
		{"nothing is copied, all alone", "....", 1 << 20, "ssss"},
		{"nothing is copied, three join each first one", ".CCC.CCC", 4096, "suuusuuu"},
		{"loopback copies all", "CCCC", 4096, "cccc"},
		{"it begins to copy: what fits into a packet may have joined", "..C", 4096, "ssu"},
		{"it begins to copy: this cannot have joined", "..CC", mostInPacket + 1, "sscc"},
		{"it stops to copy", "CC.C", 4096, "ccsu"},
		{"it begins to copy for good", "." + strings.Repeat("C", 1000), 4096, "s" + strings.Repeat("u", window-1) +
			strings.Repeat("c", 1000-window+1)},
	} {
		var f Fates
		got := ""
		for _, c := range x.flags {
			got += string("scu"[f.Of(x.size, c == 'C')])
		}
		if got != x.want || f.untoldBytes != x.size*uint64(strings.Count(x.want, "u")) ||
			f.toldBytes+f.untoldBytes != x.size*uint64(len(x.want)) {
			t.Errorf("%s: %s, want %s: %+v", x.name, got, x.want, f)
		}
		if (len(f.Notes()) > 0) != strings.Contains(x.want, "u") {
			t.Errorf("%s: %q", x.name, f.Notes())
		}
	}
}
