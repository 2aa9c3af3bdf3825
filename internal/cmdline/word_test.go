// SPDX-License-Identifier: MIT

package cmdline

import (
	"os/exec"
	"testing"
)

func TestWord(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"/run/zcbench/1-2-3.lease", "/run/zcbench/1-2-3.lease"},
		{"/tmp/a b", "'/tmp/a b'"},
		{"/tmp/;touch x;.lease", "'/tmp/;touch x;.lease'"},
		{"/tmp/$(x)`y`", "'/tmp/$(x)`y`'"},
		{"/tmp/it's", `'/tmp/it'\''s'`},
		{"", "''"},
	} {
		got := Word(x.text)
		if got != x.want {
			t.Errorf("%q: %s, want %s", x.text, got, x.want)
		}
		if out, err := exec.Command("sh", "-c", "printf %s "+got).Output(); err != nil || string(out) != x.text {
			t.Errorf("a shell reads %s as %q (%v)", got, out, err)
		}
	}
}
