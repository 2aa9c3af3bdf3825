// SPDX-License-Identifier: MIT

package nic

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/driver"
)

// What the kernel says of a refusal comes first, then that there are rules.
func TestWithRules(t *testing.T) {
	for _, x := range []struct {
		ack  string
		n    int
		want string
	}{
		{"", 2, "ntuple rules are in the way: eth0 has 2"},
		{"the kernel's words", 1, "the kernel's words: ntuple rules are in the way: eth0 has 1"},
		{"the kernel's words", 0, "the kernel's words"},
	} {
		if got := withRules(x.ack, "eth0", x.n); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}

func TestFollowsRX(t *testing.T) {
	for _, name := range []string{"tx-usecs", "adaptive-tx"} {
		if !followsRX(driver.Of("ionic"), name) || followsRX(driver.Of("mlx5_core"), name) {
			t.Error(name)
		}
	}
	if followsRX(driver.Of("ionic"), "rx-usecs") {
		t.Error("rx-usecs can be set alone")
	}
}

// An interface that is up is not said to be down.
func TestNAPIUntold(t *testing.T) {
	if got := napiUntold("eth0", true); strings.Contains(got, "ip link set") || !strings.Contains(got, "use a kernel") {
		t.Error(got)
	}
	if got := napiUntold("eth0", false); got != "bring the interface up: ip link set eth0 up" {
		t.Error(got)
	}
}
