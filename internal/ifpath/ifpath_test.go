// SPDX-License-Identifier: MIT

package ifpath

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	all, err := Parse("eth0,br-lan:1,netns:vm1/eth0,netns:/proc/7/ns/net/vif1.0")
	if err != nil || len(all) != 4 {
		t.Fatal(all, err)
	}
	for i, want := range []Place{{"", "", "eth0", 1, 1}, {"", "", "br-lan:1", 2, 6}, {"", "vm1", "eth0", 3, 15},
		{"", "/proc/7/ns/net", "vif1.0", 4, 30}} {
		if all[i] != want {
			t.Errorf("%+v, want %+v", all[i], want)
		}
	}
	for list, want := range map[string]string{
		"eth0":                     "at least two interfaces",
		"eth0,":                    "interface 2, \"\", at byte 6: no interface is named",
		",eth0":                    "interface 1, \"\", at byte 1",
		"a,netns:x":                "interface 2, \"netns:x\", at byte 3: write a network namespace as netns:NAME/DEV",
		"a,netns:x/":               "no interface is named",
		"a,netns:/b":               "netns:NAME/DEV",
		"a, b":                     "without blanks",
		"a,b,a":                    "interface 3, \"a\", at byte 5: already in the path, as interface 1",
		"a,sixteen-letters-x":      "at most 15 characters",
		"a,b\x1b[2J":               "without blanks",
		strings.Repeat("x,", 70):   "already in the path",
		"netns:v/e,netns:v/e":      "already in the path",
		"..,b":                     "not an interface name",
		"a,b" + numbered(",c", 63): "more than 64 interfaces",
	} {
		if _, err := Parse(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", list, err, want)
		}
	}
}

// A run's list also names its hosts.
func TestParseRun(t *testing.T) {
	all, err := ParseRun("tg:eth0,vif1,netns:r/br0,sut:eth0")
	if err != nil || len(all) != 4 {
		t.Fatal(all, err)
	}
	for i, want := range []Place{{"tg", "", "eth0", 1, 1}, {"", "", "vif1", 2, 9}, {"", "r", "br0", 3, 14},
		{"sut", "", "eth0", 4, 26}} {
		if all[i] != want {
			t.Errorf("%+v, want %+v", all[i], want)
		}
	}
	for list, want := range map[string]string{
		"tg:eth0":         "at least two interfaces",
		"tg:,sut:eth0":    `interface 1, "tg:", at byte 1: no interface is named`,
		"tg:a,sut:a,tg:a": `interface 3, "tg:a", at byte 12: already in the path, as interface 1`,
		"tg:a b,sut:a":    "without blanks",
	} {
		if _, err := ParseRun(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", list, err, want)
		}
	}
	if all, err := Parse("tg:eth0,sut:eth0"); err != nil || all[0].Host != "" || all[0].Dev != "tg:eth0" {
		t.Errorf("%+v, %v", all, err)
	}
}

func numbered(name string, n int) (out string) {
	for i := range n {
		out += name + string(rune('0'+i/10)) + string(rune('0'+i%10))
	}
	return out
}

func FuzzParse(f *testing.F) {
	f.Add("eth0,netns:vm1/eth0")
	f.Add("netns:/run/netns/x/y,,")
	f.Fuzz(func(t *testing.T, list string) {
		all, err := Parse(list)
		if err != nil {
			return
		}
		var again []string
		for i, p := range all {
			if p.Item != i+1 || !strings.HasPrefix(list[p.At-1:], p.String()) || !isName(p.Dev) {
				t.Errorf("%q: %+v", list, p)
			}
			again = append(again, p.String())
		}
		if strings.Join(again, ",") != list {
			t.Errorf("%q became %q", list, again)
		}
	})
}
