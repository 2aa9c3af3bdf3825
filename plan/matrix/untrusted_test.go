// SPDX-License-Identifier: MIT

package matrix

import (
	"strings"
	"testing"
)

// A sysctl that measuring does not need is for the user to allow, whichever end it is of; one that
// it needs is not asked about.
func TestUntrustedSysctl(t *testing.T) {
	for text, want := range map[string]string{
		"sut: {settings: {sysctl: {net.core.rmem_max: 536870912, net.ipv4.tcp_rmem: 4096 87380 536870912, " +
			"net.ipv4.tcp_congestion_control: bbr}}}\n": "",
		"sut: {settings: {sysctl: {net.core.rmem_max: 4096, net.ipv4.conf.all.rp_filter: 0}}}\n": "x.yaml:3:52: sut.settings: sysctl net.ipv4.conf.all.rp_filter is none of those that measuring needs (docs/trust.md): " + trusting,
		"tg: {settings: {sysctl: {net.ipv4.tcp_syncookies: 0}}}\n":                               "x.yaml:3:26: tg.settings: sysctl net.ipv4.tcp_syncookies is none",
		"tg: {settings: {sysctl: {net.ipv4.tcp_timestamps: 2}}}\n":                               `tg.settings: sysctl net.ipv4.tcp_timestamps: "2" is not 0 to 1 (docs/trust.md): ` + trusting,
	} {
		if err := mustParse(t, plain+text).Untrusted(); (err == nil) != (want == "") || err != nil &&
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s%v, want %q", text, err, want)
		}
	}
}
