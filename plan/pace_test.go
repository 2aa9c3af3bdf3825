// SPDX-License-Identifier: MIT

package plan

import (
	"testing"
	"time"
)

func TestPaceOption(t *testing.T) {
	o := LookupOption("pace")
	for s, want := range map[string][2]string{"none": {"", "none"}, "0": {"", "none"}, "10G": {"10000000000", "10G"},
		"2500M": {"2500000000", "2500M"}, "50%": {"50%", "50%"}, "90 %": {"90%", "90%"}, "1M": {"1000000", "1M"}} {
		c := Cell{PaceBitsPS: 7, PacePercent: 8}
		if err := o.Set(&c, s); err != nil || o.Raw(&c) != want[0] || o.Value(&c) != want[1] {
			t.Errorf("%s: %q, %q, %v", s, o.Raw(&c), o.Value(&c), err)
		}
	}
	for _, s := range []string{"91%", "100%", "0%", "-5%", "12.5%", "%", "999K", "fast", "", "1G%"} {
		if err := o.Set(&Cell{}, s); err == nil {
			t.Errorf("%q is a pace", s)
		}
	}
}

// A share keeps a cell what it is, whatever it comes to.
func TestPaceOfAShare(t *testing.T) {
	a, b := Cell{RX: "tcp", PacePercent: 50}, Cell{RX: "tcp", PacePercent: 50, PaceBitsPS: 4e9}
	if a.Key() != b.Key() || a.Key() == (Cell{RX: "tcp"}).Key() || a.Key() == (Cell{RX: "tcp", PaceBitsPS: 4e9}).Key() {
		t.Errorf("%q, %q", a.Key(), b.Key())
	}
}

// Objects make a pace of all flows together; those of fan_in flows are due at once, and the groups
// are spread evenly.
func TestObjectPhases(t *testing.T) {
	c := Cell{ObjectBytes: 1 << 20, EveryUs: 8000, Flows: 8, FanIn: 2}
	if got := c.PaceRate(); got != 8<<20*8*125 || !c.Paced() {
		t.Errorf("%d bit/s", got)
	}
	for n, want := range []time.Duration{0, 0, 2, 2, 4, 4, 6, 6} {
		if got := c.ObjectPhase(n); got != want*time.Millisecond {
			t.Errorf("flow %d after %v", n, got)
		}
		if c := (Cell{ObjectBytes: 1, EveryUs: 8000, Flows: 8}); c.ObjectPhase(n) != 0 {
			t.Errorf("flow %d is not due with all", n)
		}
	}
}
