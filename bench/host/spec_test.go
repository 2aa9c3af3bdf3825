// SPDX-License-Identifier: MIT

package host

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseSpec(t *testing.T) {
	for in, want := range map[string]Spec{
		"local":                  {Kind: "local", Name: "local"},
		"netns:a":                {Kind: "netns", Netns: "/run/netns/a", Name: "netns:a"},
		"netns:/proc/12/ns/net":  {Kind: "netns", Netns: "/proc/12/ns/net", Name: "netns:/proc/12/ns/net"},
		"netns:./here":           {Kind: "netns", Netns: "./here", Name: "netns:./here"},
		"netns:with:colon":       {Kind: "netns", Netns: "/run/netns/with:colon", Name: "netns:with:colon"},
		"netns:spaces and more ": {Kind: "netns", Netns: "/run/netns/spaces and more ", Name: "netns:spaces and more "},
		"ssh:hostb":              {Kind: "ssh", Dest: "hostb", Name: "ssh:hostb"},
		"ssh:root@hostb":         {Kind: "ssh", Dest: "root@hostb", Name: "ssh:root@hostb"},
		"ssh+sudo:me@b":          {Kind: "ssh", Dest: "me@b", Sudo: true, Name: "ssh+sudo:me@b"},
		"ssh:me@b:2222":          {Kind: "ssh", Dest: "me@b", Port: 2222, Name: "ssh:me@b:2222"},
		"ssh://me@b:2222":        {Kind: "ssh", Dest: "me@b", Port: 2222, Name: "ssh://me@b:2222"},
		"ssh+sudo://b":           {Kind: "ssh", Dest: "b", Sudo: true, Name: "ssh+sudo://b"},
		"ssh:DOMAIN\\me@b":       {Kind: "ssh", Dest: "DOMAIN\\me@b", Name: "ssh:DOMAIN\\me@b"},
		"ssh:me@fd00::1":         {Kind: "ssh", Dest: "me@fd00::1", Name: "ssh:me@fd00::1"},
		"ssh:fe80::1%eth0":       {Kind: "ssh", Dest: "fe80::1%eth0", Name: "ssh:fe80::1%eth0"},
		"ssh:me@fe80::1%2":       {Kind: "ssh", Dest: "me@fe80::1%2", Name: "ssh:me@fe80::1%2"},
		"ssh:me@[fd00::1]":       {Kind: "ssh", Dest: "me@fd00::1", Name: "ssh:me@[fd00::1]"},
		"ssh:[fd00::1]:22":       {Kind: "ssh", Dest: "fd00::1", Port: 22, Name: "ssh:[fd00::1]:22"},
		"ssh://[fe80::1%br-a.1]": {Kind: "ssh", Dest: "fe80::1%br-a.1", Name: "ssh://[fe80::1%br-a.1]"},
		"ssh:a@[fe80::1%e]:9":    {Kind: "ssh", Dest: "a@fe80::1%e", Port: 9, Name: "ssh:a@[fe80::1%e]:9"},
	} {
		got, err := ParseSpec(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: -want +got\n%s", in, d)
		}
	}
	for _, in := range []string{"", "netns", "netns:", "local:x", "Local", "remote", "ssh", "ssh:", "ssh+sudo:",
		"ssh:-oProxyCommand=reboot", "ssh:root@-x", "ssh:-l@b", "ssh:a b", "ssh:root@", "ssh:@b", "ssh:b:0",
		"ssh:b:70000", "ssh:b:x",
		"ssh:[fd00::1", "ssh:[b]:x", "ssh://", "ssh://b/path", "ssh:a;b", "ssh:$(b)", "ssh+su:b", "SSH:b", "ssh:b%eth0",
		"ssh:10.0.0.1%eth0", "ssh:b:1:2", "ssh:[10.0.0.1%eth0]", `ssh:a\b`, `ssh:a\@b`, "10.0.0.1", "netns :a", ":",
		"netns:..", "netns:."} {
		got, err := ParseSpec(in)
		if e := (*SpecError)(nil); !errors.As(err, &e) {
			t.Errorf("%q: %+v, %v; want a SpecError", in, got, err)
			continue
		}
		if !strings.Contains(err.Error(), strconv.Quote(in)) || !strings.Contains(err.Error(), "netns:NAME") {
			t.Errorf("%q: the error names neither it nor the choices: %v", in, err)
		}
	}
}

// A zone is the name of an interface and nothing that a shell would run.
func TestParseSpecZone(t *testing.T) {
	for _, zone := range []string{"", "$(reboot)", "`reboot`", "a b", "a;b", "a|b", "a&b", "a'b", `a"b`, "a/b", "a\nb",
		"a%b", "-oProxyCommand=x",
		"a@b", "a:b", "a,b", "{a}", "a]b", "a\x00b", "a\x1b[2J", "ä", ".", "..", "sixteencharacter"} {
		for _, form := range []string{"ssh:fe80::1%Z", "ssh:me@fe80::1%Z", "ssh:[fe80::1%Z]", "ssh:me@[fe80::1%Z]:22",
			"ssh://[fe80::1%Z]", "ssh+sudo://me@[fe80::1%Z]:22"} {
			in := strings.Replace(form, "Z", zone, 1)
			got, err := ParseSpec(in)
			if e := (*SpecError)(nil); !errors.As(err, &e) {
				t.Errorf("%q: %+v, %v; want a SpecError", in, got, err)
			} else if strings.ContainsAny(err.Error(), "\x00\x1b\n") {
				t.Errorf("%q: the error plays with the terminal: %q", in, err)
			}
		}
	}
	_, err := ParseSpec("ssh:[fe80::1%a$b]")
	if err == nil || !strings.Contains(err.Error(), `zone "a$b"`) || !strings.Contains(err.Error(), "15") {
		t.Errorf("the error does not tell what a zone is: %v", err)
	}
}
