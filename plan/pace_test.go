// SPDX-License-Identifier: MIT

package plan

import (
	"testing"
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
