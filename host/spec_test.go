package host

import (
	"errors"
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
	} {
		got, err := ParseSpec(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: -want +got\n%s", in, d)
		}
	}
	for _, in := range []string{"", "netns", "netns:", "local:x", "Local", "remote", "ssh:root@b", "10.0.0.1", "netns :a", ":", "netns:..", "netns:."} {
		got, err := ParseSpec(in)
		if e := (*SpecError)(nil); !errors.As(err, &e) {
			t.Errorf("%q: %+v, %v; want a SpecError", in, got, err)
			continue
		}
		if !strings.Contains(err.Error(), `"`+in+`"`) || !strings.Contains(err.Error(), "netns:NAME") {
			t.Errorf("%q: the error names neither it nor the choices: %v", in, err)
		}
	}
}
