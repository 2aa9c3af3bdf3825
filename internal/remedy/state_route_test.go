// SPDX-License-Identifier: MIT

package remedy

import (
	"net/netip"
	"strings"
	"testing"
)

// Who did not ask for a family is told to ask for the other, and who did is told to leave it out:
// never both.
func TestTheOtherFamily(t *testing.T) {
	for peer, want := range map[string]string{"192.0.2.1": "--ipv6 (in files ipv6: true)",
		"::ffff:192.0.2.1": "--ipv6 (in files ipv6: true)", "2001:db8::1": "leave out --ipv6"} {
		do := otherFamily.Do(On{Remote: netip.AddrPortFrom(netip.MustParseAddr(peer), 0)})
		if !strings.Contains(do, want) || strings.Contains(do, "leave out") != (want == "leave out --ipv6") {
			t.Errorf("%s: %q, want %q", peer, do, want)
		}
	}
	for _, r := range table() {
		if strings.Contains(r.Do, "--ipv6, or leave it out") || strings.Contains(r.Do, "ipv6: true), or leave it out") {
			t.Errorf("%s, %v: %q", r.Call, r.Errno, r.Do)
		}
	}
}
