// SPDX-License-Identifier: MIT

package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/tune"
)

func TestSettingsAreChecked(t *testing.T) {
	for _, c := range []struct {
		s    Settings
		zero bool
		ok   bool
	}{
		{Settings{}, true, true},
		{Settings{Dev: "eth0", OnlyNamespace: true}, true, true},
		{Settings{Values: []Setting{{"mtu", "4148"}}}, false, false}, // of what?
		{Settings{Dev: "eth0", Values: []Setting{{"mtu", "4148"}, {"feature rx-gro", "on"},
			{"gro-max-size", "131072"}}}, false, true},
		{Settings{Dev: "eth0", Values: []Setting{{"mtu", "no"}}}, false, false},
		{Settings{Dev: "eth0", Values: []Setting{{Channels, "0"}}}, false, false},
		{Settings{Dev: "eth0", Values: []Setting{{Channels, "4"}}}, false, true},
		{Settings{Dev: "eth0", Values: []Setting{{HeaderSplit, "off"}}}, false, true},
		{Settings{Dev: "eth0", Values: []Setting{{HeaderSplit, "tcp-data-split auto"}}}, false, true},
		{Settings{Dev: "eth0", Values: []Setting{{HeaderSplit, "maybe"}}}, false, false},
		{Settings{Values: []Setting{{Idle, "0"}}}, false, true},
		{Settings{Values: []Setting{{Idle, "-1"}}}, false, false},
		{Settings{Values: []Setting{{"rss", "default"}}}, false, false},
		{Settings{Dev: "eth0", Values: []Setting{{"nothing", "1"}}}, false, false},
		{Settings{Values: []Setting{{"sysctl net.core.rmem_max", "4096  87380"}}}, false, true},
		{Settings{Values: []Setting{{"sysctl net.core.rmem_max", "/x"}}}, false, false},
		{Settings{Values: []Setting{{"sysctl net.core.rmem_max", "1"}, {"sysctl kernel.core_pattern", "|/x %p"}}},
			false, false},
		{Settings{Values: []Setting{{"sysctl kernel.core_pattern", "core"}}, OnlyNamespace: true}, false, false},
		{Settings{Values: []Setting{{Governor, "performance"}}}, false, true},
		{Settings{Values: []Setting{{Governor, "../x"}}}, false, false},
		{Settings{Values: []Setting{{IRQBalance, "stopped"}}}, false, true},
		{Settings{Values: []Setting{{IRQBalance, "gone"}}}, false, false},
	} {
		if c.s.IsZero() != c.zero || (c.s.Check() == nil) != c.ok {
			t.Errorf("%+v: zero %v, %v", c.s, c.s.IsZero(), c.s.Check())
		}
	}
}

// Every option of hosts gets to the end that it is of, as settings that a host can have.
func TestSettingsOfEveryOption(t *testing.T) {
	on, idle := true, 5
	c := Cell{GRO: &on, HWGRO: &on, HeaderSplit: &on, BigTCPBytes: 131072, TGBigTCPBytes: 65536, MTU: 4148,
		RXRing: 512, TXRing: 256, Channels: 4,
		Set: "coalesce rx-usecs=5; tg:rss=default", SysctlProfile: "reference", HugePages: 3, Governor: "performance",
		MaxIdleUs: &idle, StopBalance: &on, UDPSegment: &on}
	for i := range Options {
		if o := &Options[i]; o.Kind == OfHost && o.Raw(&c) == "" {
			t.Errorf("the test has no %s", o.Name)
		}
	}
	sizes := func(n string) []Setting {
		return []Setting{{"gso-max-size", n}, {"gro-max-size", n}, {"gso-ipv4-max-size", n}, {"gro-ipv4-max-size", n}}
	}
	tail := []Setting{{"sysctl net.ipv4.tcp_sack", "0"}, {"sysctl vm.nr_hugepages", "3"}, {Governor, "performance"},
		{Idle, "5"}, {IRQBalance, tune.Stopped}}
	profile := func() (out []Setting) {
		for _, x := range tune.Reference.Sysctls {
			out = append(out, Setting{"sysctl " + x[0], x[1]})
		}
		return out
	}()
	both := []Setting{{"mtu", "4148"}, {"ring rx", "512"}, {"ring tx", "256"}, {Channels, "4"},
		{"coalesce rx-usecs", "5"}}
	join := func(parts ...[]Setting) (out []Setting) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	for role, want := range map[stream.Role][]Setting{
		stream.RX: join([]Setting{{"feature rx-gro", "on"}, {"feature rx-gro-hw", "on"}, {HeaderSplit, "on"}},
			sizes("131072"), both, profile, tail),
		stream.TX: join(sizes("65536"), []Setting{{"mtu", "4148"}, {"feature tx-udp-segmentation", "on"}}, both[1:],
			[]Setting{{"rss", "default"}}, profile, tail),
	} {
		got := SettingsOf(role, c, map[string]string{"net.ipv4.tcp_sack": "0"})
		if d := cmp.Diff(want, got.Values); d != "" {
			t.Errorf("%s: -want +got\n%s", role, d)
		}
		if got.Dev = "eth0"; got.Check() != nil {
			t.Errorf("%s: %v", role, got.Check())
		}
	}
	off := false
	if s := SettingsOf(stream.RX, Cell{StopBalance: &off}, nil); !s.IsZero() {
		t.Errorf("irqbalance that is left alone: %+v", s)
	}
}

// An end that also receives, where both do, gets what the receiver does.
func TestSettingsOfBothWays(t *testing.T) {
	on := true
	c := Cell{HWGRO: &on, BigTCPBytes: 131072}
	for _, both := range []bool{false, true} {
		var want []Setting
		if c.Both = &both; both {
			want = []Setting{{"feature rx-gro-hw", "on"}}
		}
		if d := cmp.Diff(want, SettingsOf(stream.TX, c, nil).Values); d != "" {
			t.Errorf("both %v: -want +got\n%s", both, d)
		}
	}
}

// The profiles that options name are those there are.
func TestProfilesAreKnown(t *testing.T) {
	if len(profiles) != len(tune.Profiles) {
		t.Errorf("%v, and %d are known", profiles, len(tune.Profiles))
	}
	for _, name := range profiles {
		if _, ok := tune.Profiles[name]; !ok {
			t.Errorf("no profile %q", name)
		}
	}
}

func TestSettingsOfTwo(t *testing.T) {
	all := Settings{Dev: "eth0", Values: []Setting{{"mtu", "4148"}, {"rss", "default"},
		{"sysctl net.ipv4.tcp_sack", "0"}, {"sysctl vm.nr_hugepages", "3"}, {Governor, "performance"}}}
	other := Settings{Dev: "eth0", Values: []Setting{{"mtu", "1500"}, {"rss", "default"}}}
	for _, x := range []struct{ a, b, want Settings }{
		{all, all, all},
		{all, other, Settings{Dev: "eth0", Values: []Setting{{"rss", "default"}}}},
		{all, Settings{Dev: "eth1"}, Settings{}},
		{all, Settings{}, Settings{}},
	} {
		if got := x.a.Common(x.b); !cmp.Equal(got, x.want) {
			t.Errorf("%+v and %+v have %+v", x.a, x.b, got)
		}
	}
	if d := cmp.Diff(all.Values[3:], all.Shared()); d != "" {
		t.Errorf("of the machine: %s", d)
	}
	if all.OnlyNamespace = true; all.Value(Governor) != "" || all.Value("rss") != "default" ||
		!cmp.Equal(all.Wanted(), all.Values[:3]) {
		t.Errorf("in a namespace alone: %+v", all.Wanted())
	}
}
