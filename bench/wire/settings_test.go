// SPDX-License-Identifier: MIT

package wire

import (
	"reflect"
	"testing"
)

func TestSettings(t *testing.T) {
	idle, on := 0, true
	for _, c := range []struct {
		s    Settings
		zero bool
		ok   bool
	}{
		{Settings{}, true, true},
		{Settings{Dev: "eth0", OnlyNamespace: true}, true, true},
		{Settings{MTU: 4148}, false, false}, // of what?
		{Settings{Dev: "eth0", MTU: 4148, GRO: &on, BigTCPBytes: 131072}, false, true},
		{Settings{Dev: "eth0", MTU: 67}, false, false},
		{Settings{Dev: "eth0", BigTCPBytes: MaxBigTCP + 1}, false, false},
		{Settings{Dev: "eth0", RXRing: -1}, false, false},
		{Settings{MaxIdleUs: &idle}, false, true},
		{Settings{SysctlProfile: "reference", HugePages: 4}, false, true},
		{Settings{HugePages: -4}, false, false},
		{Settings{Device: []Setting{{"rss", "default"}}}, false, false},
		{Settings{SysctlProfile: "mine"}, false, false},
		{Settings{Sysctls: []Setting{{"net.core.rmem_max", "4096  87380"}}}, false, true},
		{Settings{Sysctls: []Setting{{"net.core.rmem_max", "/x"}}}, false, false},
		{Settings{Sysctls: []Setting{{"net.core.rmem_max", "1"}, {"kernel.core_pattern", "|/x %p"}}}, false, false},
		{Settings{Sysctls: []Setting{{"kernel.core_pattern", "core"}}, OnlyNamespace: true}, false, false},
		{Settings{Governor: "performance"}, false, true},
		{Settings{Governor: "../x"}, false, false},
	} {
		if c.s.IsZero() != c.zero || (c.s.Check() == nil) != c.ok {
			t.Errorf("%+v: zero %v, %v", c.s, c.s.IsZero(), c.s.Check())
		}
	}
}

// Whatever field there is, it is common to two who both want it, and to no others.
func TestCommonSettings(t *testing.T) {
	on, idle := true, 5
	all := Settings{Dev: "eth0", MTU: 4148, GRO: &on, HWGRO: &on, BigTCPBytes: 131072, RXRing: 512, TXRing: 256, Channels: 4, Device: []Setting{{"rss", "default"}, {"rps 0", "1"}},
		SysctlProfile: "reference", Sysctls: []Setting{{"net.core.rmem_max", "1"}}, HugePages: 3, Governor: "performance", MaxIdleUs: &idle, StopBalance: true, OnlyNamespace: true}
	v := reflect.ValueOf(all)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("the test has no %s", v.Type().Field(i).Name)
		}
	}
	off, off2 := false, false
	other := Settings{Dev: "eth0", MTU: 1500, GRO: &off, HWGRO: nil, Device: []Setting{{"rss", "default"}, {"rps 0", "2"}}, OnlyNamespace: true}
	same := other
	same.GRO = &off2
	for _, x := range []struct{ a, b, want Settings }{
		{all, all, all},
		{other, same, other},
		{all, other, Settings{Dev: "eth0", OnlyNamespace: true, Device: []Setting{{"rss", "default"}}}},
		{all, Settings{Dev: "eth1"}, Settings{}},
		{all, Settings{}, Settings{}},
	} {
		if got := x.a.Common(x.b); !reflect.DeepEqual(got, x.want) {
			t.Errorf("%+v and %+v have %+v", x.a, x.b, got)
		}
	}
}
