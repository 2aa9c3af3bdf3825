// SPDX-License-Identifier: MIT

package plan

import (
	"slices"
	"testing"
)

func TestProbes(t *testing.T) {
	for text, want := range map[string]string{"none": "", "latency": "latency", "zc+latency": "latency+zc",
		"zc,latency": "latency+zc", "syscalls+syscalls": "syscalls"} {
		if got, err := parseProbe(text); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "latency,,zc", "none+zc", "latency+", "colour"} {
		if got, err := parseProbe(text); err == nil {
			t.Errorf("%q is taken for %q", text, got)
		}
	}
	c := Cell{Probe: "latency+zc"}
	if got := c.Probes(); !slices.Equal(got, []string{"latency", "zc"}) {
		t.Errorf("%q", got)
	}
	if got := (&Cell{}).Probes(); got != nil {
		t.Errorf("a cell without probes has %q", got)
	}
}
