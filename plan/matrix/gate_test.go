// SPDX-License-Identifier: MIT

package matrix

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/plan"
)

// What a file or a flag names is asked for, where it else flags runs: the others have their
// consequences anyway.
func TestSetGate(t *testing.T) {
	s := New()
	for _, x := range [][2]string{{"throughput_cv", "5%"}, {"drops_per_gb", "100"}, {"foreign_cores", "0.1"},
		{"drift", "off"}, {"limit", "receiver"}, {"replace", "1"}, {"acted", "on"}, {"idle_drift", "3%"}} {
		if err := s.SetGate(x[0], x[1]); err != nil {
			t.Errorf("%s=%s: %v", x[0], x[1], err)
		}
	}
	g := &s.Gates
	if *g.ThroughputCV != .05 || *g.DropsPerGB != 100 || *g.ForeignCores != .1 || g.Drift != nil ||
		g.Limit != plan.ByReceiver || g.Replacements() != 1 || *g.RetransPerGB != 10 || *g.IdleDrift != .03 {
		t.Errorf("%+v", g)
	}
	if want := []string{"acted", "drops_per_gb", "idle_drift", "throughput_cv"}; !slices.Equal(g.Asked, want) {
		t.Errorf("asked %q, want %q", g.Asked, want)
	}
	if err := s.SetGate("throughput_cv", "off"); err != nil || g.Asks("throughput_cv") || g.ThroughputCV != nil {
		t.Errorf("off: %v, %+v", err, g)
	}
	if err := s.SetGate("acted", "off"); err != nil || g.Asks("acted") || !g.IgnoreInert {
		t.Errorf("off: %v, %+v", err, g)
	}
	for _, x := range [][2]string{{"nosuch", "1"}, {"throughput_cv", "much"}, {"replace", "3"}, {"limit", "me"},
		{"acted", "perhaps"}} {
		if s.SetGate(x[0], x[1]) == nil {
			t.Errorf("%s=%s is taken", x[0], x[1])
		}
	}
	// A plan's hash is of its gates, too.
	if a, b := New(), New(); b.SetGate("replace", "1") != nil || a.Hash() == b.Hash() {
		t.Error("one hash for two plans")
	}
}
