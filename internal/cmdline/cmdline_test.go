// SPDX-License-Identifier: MIT

package cmdline

import (
	"strings"
	"testing"
)

func TestPublic(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"/usr/bin/zcbench", "run", "--sut", "ssh:root@a", "--tg=netns:b"},
			"zcbench run --sut ssh:root@a --tg netns:b"},
		{[]string{"zcbench", "run", "--sut", "local", "--power", "command=curl -u admin:SECRET https://SECRET@bmc"},
			"zcbench run --sut local --power …"},
		{[]string{"zcbench", "run", "--power=command=curl -u admin:SECRET", "--dev", "eth0"},
			"zcbench run --power … --dev eth0"},
		{[]string{"zcsend", "--cookie", "SECRET", "--duration", "1s"}, "zcsend --cookie … --duration 1s"},
		{[]string{"zcbench", "run", "--sut", "ssh:root:SECRET@a"}, "zcbench run --sut …"},
		{[]string{"zcbench", "run", "--out", "https://a:SECRET@b/c"}, "zcbench run --out …"},
		{[]string{"zcbench", "lab", "exec", "--", "login", "SECRET"}, "zcbench lab exec"},
		{[]string{"zcbench", "matrix", "night/a.yaml", "--json", "SECRET", "-u", "SECRET"},
			"zcbench matrix night/a.yaml --json …"},
		{[]string{"zcbench", "run", "--out", "a b\x1b[31m"}, "zcbench run --out …"},
		{[]string{"zcbench", "run", "--sut"}, "zcbench run --sut"},
		{[]string{"\x1b]0;x\a"}, "…"},
		{nil, ""},
	} {
		got := Public(c.args)
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
		if again := Clean(got); again != got {
			t.Errorf("%q cleaned again is %q", got, again)
		}
	}
	if got := Public(append([]string{"zcbench"}, strings.Split(strings.Repeat("a ", 400), " ")...)); len(
		[]rune(got)) > 301 {
		t.Errorf("%d characters", len([]rune(got)))
	}
}

// What another version of zcbench says has lost its quotes.
func TestClean(t *testing.T) {
	for line, want := range map[string]string{
		"zcbench run --sut ssh:a --power command=curl -u admin:SECRET https://bmc --dev eth0 SECRET": "zcbench run --sut ssh:a --power … --dev eth0 …",
		"zcbench run --power command=PASS=SECRET curl --user SECRET":                                 "zcbench run --power … --user …",
		"zcbench run --sut ssh:\u202ea\u009b31m":                                                     "zcbench run --sut …",
		"":                                                                                           "",
	} {
		if got := Clean(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestPrintable(t *testing.T) {
	if got := Printable("night\x1b[31m\u009b1\u202e\n 7 ä\xff"); got != "night[31m1 7 ä" {
		t.Errorf("%q", got)
	}
}

// FuzzClean: what is cleaned stays as it is.
func FuzzClean(f *testing.F) {
	f.Add("zcbench run --sut ssh:a --power command=x -u a:b --dev eth0")
	f.Fuzz(func(t *testing.T, line string) {
		once := Clean(line)
		if len([]rune(once)) <= 300 && Clean(once) != once {
			t.Errorf("%q became %q", once, Clean(once))
		}
	})
}
