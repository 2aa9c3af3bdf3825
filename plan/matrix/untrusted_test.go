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

// Memory that a program of the file's makes is for the user to allow, however the file says it; a
// plan that is played again is somebody else's too. Memory of the kernel's is not asked about.
func TestUntrustedMemory(t *testing.T) {
	const file = "name: x\n"
	for text, want := range map[string]string{
		"factors: {rx: devmem, tx: devmem}\narea: heap\ntx_area: drm:/dev/dri/card0\n": "",
		"factors: {rx: devmem, tx: tcp}\narea: fd:make-memory --gpu 0\n": "x.yaml:3:7: area: a program that the " +
			"file names makes the memory: " + trusting,
		"factors: {rx: [devmem, zcrx], tx: [tcp, devmem], tx_area: [heap, 'fd:x']}\n":         "tx_area: a program",
		"sut: {host: local, area: 'fd:x'}\ntg: {host: local}\nfactors: {rx: zcrx, tx: tcp}\n": "x.yaml:2:26: area: a program",
	} {
		s, err := Parse("x.yaml", []byte(file+text))
		if err != nil {
			t.Errorf("%s%v", text, err)
			continue
		}
		if err := s.Untrusted(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s%v, want %q", text, err, want)
		}
		if want == "" {
			continue
		}
		p, err := Replay("j", recorded(t, s))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Spec.Untrusted(); err == nil || !strings.HasPrefix(err.Error(), "j: ") {
			t.Errorf("%splayed again: %v", text, err)
		}
	}
}

// A folder that payload is written to is for the user to allow, however the file says it, but those
// that anybody may write to; a plan that is played again is somebody else's too.
func TestUntrustedFolder(t *testing.T) {
	const file = "name: x\nfactors: {rx: tcp, tx: tcp}\n"
	for text, want := range map[string]string{
		"then: write:/tmp\n":     "",
		"then: write:/var/tmp\n": "",
		"then: forward\n":        "",
		"then: write:/etc/cron.d\n": "x.yaml:3:7: then: payload is written to a folder that the file names: name " +
			"one of " +
			"/tmp, /var/tmp, or " + trusting,
		"then: write:/tmp/alice\n": "x.yaml:3:7: then: payload",
		"then: write:/\n":          "x.yaml:3:7: then: payload",
	} {
		s, err := Parse("x.yaml", []byte(file+text))
		if err != nil {
			t.Errorf("%s%v", text, err)
			continue
		}
		if err := s.Untrusted(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s%v, want %q", text, err, want)
		}
		p, err := Replay("j", recorded(t, s))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Spec.Untrusted(); (err == nil) != (want == "") {
			t.Errorf("%splayed again: %v", text, err)
		}
	}
	s, err := Parse("x.yaml", []byte("name: x\nfactors: {rx: tcp, tx: tcp, then: [none, 'write:/tmp', 'write:/x']}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Untrusted(); err == nil || !strings.HasPrefix(err.Error(), "x.yaml:2:") {
		t.Errorf("a factor: %v", err)
	}
}
