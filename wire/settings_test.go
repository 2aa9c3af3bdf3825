package wire

import "testing"

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
	} {
		if c.s.IsZero() != c.zero || (c.s.Check() == nil) != c.ok {
			t.Errorf("%+v: zero %v, %v", c.s, c.s.IsZero(), c.s.Check())
		}
	}
}
