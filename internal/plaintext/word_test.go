// SPDX-License-Identifier: MIT

package plaintext

import (
	"os/exec"
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
)

func TestWord(t *testing.T) {
	for in, want := range map[string]string{
		"eth0": "eth0", "fe80::1%eth0": "fe80::1%eth0", "/sys/class/net/eth0/mtu": "/sys/class/net/eth0/mtu",
		"": "''", "$(reboot)": "'$(reboot)'", "a;b": "'a;b'", "a b": "'a b'", "it's": `'it'\''s'`, "é": "'é'",
	} {
		if got := Word(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// A shell takes each for the word that it is.
func TestWordInAShell(t *testing.T) {
	kind.Kernel(t)
	for _, s := range []string{"$(echo x)", "`id`", "a&b;c|d", "'", `"\`, "*?[a]", "~", "#", "a\nb", "!x", "{a,b}"} {
		out, err := exec.Command("/bin/sh", "-c", "printf %s "+Word(s)).Output()
		if err != nil || string(out) != s {
			t.Errorf("%q: %q, %v", s, out, err)
		}
	}
}
