package host

import (
	"strings"
	"testing"
)

func TestCommandLine(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"/usr/bin/zcbench", "run", "--sut", "ssh:a"}, "zcbench run --sut ssh:a"},
		{[]string{"zcbench", "a\nb\x1b[31m\xff"}, "zcbench ab[31m"},
		{[]string{"zcbench", strings.Repeat("ä", 400)}, "zcbench " + strings.Repeat("ä", 292) + "..."},
	} {
		if got := commandLine(c.args); got != c.want {
			t.Errorf("%q: %q", c.args, got)
		}
	}
}
