// SPDX-License-Identifier: MIT

package matrix

import (
	"strings"
	"testing"
)

// An end has an interface, or several, as a list or as flags have them.
func TestDevs(t *testing.T) {
	const rest = "\nfactors: {rx: [tcp], tx: [tcp]}\nflows: 2\n"
	for text, want := range map[string]string{"eth0": "eth0", "[eth0]": "eth0", "[eth0, eth1]": "eth0,eth1",
		`"longname0123456,longname0123457"`: "longname0123456,longname0123457"} {
		s, err := Parse("x.yaml", []byte("name: x\nsut: {host: local, dev: "+text+"}\ntg: {host: local}"+rest))
		if err != nil || s.SUT.Dev != want {
			t.Errorf("%s: %v, want %q", text, err, want)
			continue
		}
		if err := s.SUT.checkPlayed(); err != nil {
			t.Errorf("%s, played: %v", text, err)
		}
	}
	for text, want := range map[string]string{"[eth0, eth0]": "named twice", "[]": "without an interface",
		"[eth0, a/b]": "not the name", "'eth0,'": "not the name"} {
		_, err := Parse("x.yaml", []byte("name: x\nsut: {host: local, dev: "+text+"}\ntg: {host: local}"+rest))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
