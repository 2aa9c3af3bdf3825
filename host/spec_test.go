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
		"ssh:me@b:2222":          {Kind: "ssh", Dest: "ssh://me@b:2222", Name: "ssh:me@b:2222"},
		"ssh://me@b:2222":        {Kind: "ssh", Dest: "ssh://me@b:2222", Name: "ssh://me@b:2222"},
		"ssh+sudo://b":           {Kind: "ssh", Dest: "ssh://b", Sudo: true, Name: "ssh+sudo://b"},
		"ssh:me@fd00::1":         {Kind: "ssh", Dest: "me@fd00::1", Name: "ssh:me@fd00::1"},
		"ssh:fe80::1%eth0":       {Kind: "ssh", Dest: "fe80::1%eth0", Name: "ssh:fe80::1%eth0"},
		"ssh:me@[fd00::1]":       {Kind: "ssh", Dest: "ssh://me@[fd00::1]", Name: "ssh:me@[fd00::1]"},
		"ssh:[fd00::1]:22":       {Kind: "ssh", Dest: "ssh://[fd00::1]:22", Name: "ssh:[fd00::1]:22"},
	} {
		got, err := ParseSpec(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: -want +got\n%s", in, d)
		}
	}
	for _, in := range []string{"", "netns", "netns:", "local:x", "Local", "remote", "ssh", "ssh:", "ssh+sudo:", "ssh:-oProxyCommand=reboot", "ssh:root@-x", "ssh:-l@b", "ssh:a b", "ssh:root@", "ssh:@b", "ssh:b:0", "ssh:b:70000", "ssh:b:x",
		"ssh:[fd00::1", "ssh:[b]:x", "ssh://", "ssh://b/path", "ssh:a;b", "ssh:$(b)", "ssh+su:b", "SSH:b", "10.0.0.1", "netns :a", ":", "netns:..", "netns:."} {
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
