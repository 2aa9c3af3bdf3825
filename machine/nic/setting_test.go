// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/setting"
)

// What people type is set as the kernel prints it, with what they leave open as it
// was found.
func TestTypedTexts(t *testing.T) {
	for _, c := range []struct{ name, typed, found, set string }{
		{"napi 3", "defer-hard-irqs 2, gro-flush-timeout 20000, irq-suspend-timeout 0",
			"defer-hard-irqs 0, gro-flush-timeout 0, irq-suspend-timeout 0, threaded off",
			"defer-hard-irqs 2, gro-flush-timeout 20000, irq-suspend-timeout 0, threaded off"},
		{"napi 3", "defer-hard-irqs 2, gro-flush-timeout 20000, irq-suspend-timeout 0",
			"defer-hard-irqs 0, gro-flush-timeout 0, irq-suspend-timeout 0",
			"defer-hard-irqs 2, gro-flush-timeout 20000, irq-suspend-timeout 0"}, // before 6.17
		{"napi 3", "defer-hard-irqs 2, gro-flush-timeout 20000, irq-suspend-timeout 0, threaded on",
			"defer-hard-irqs 0, gro-flush-timeout 0, irq-suspend-timeout 0, threaded off",
			"defer-hard-irqs 2, gro-flush-timeout 20000, irq-suspend-timeout 0, threaded on"},
		{"header-split", "tcp-data-split on", "tcp-data-split off, hds-thresh 256",
			"tcp-data-split on, hds-thresh 256"},
		{"header-split", "tcp-data-split on", "tcp-data-split off", "tcp-data-split on"},
		{"header-split", "tcp-data-split on, hds-thresh 0", "tcp-data-split off, hds-thresh 256",
			"tcp-data-split on, hds-thresh 0"},
		{"irq 0", "0,1", "", "0-1"},
		{"interrupt 55", "3,1-2,8", "", "1-3,8"},
		{"rps 0", "00000000,0000000F", "", "f"},
		{"rss", " 0 1  0", "", "0 1 0"},
		{"rss", "default", "", "default"},
		{"coalesce rx-usecs", "05", "", "5"},
		{"coalesce adaptive-rx", "on", "", "1"},
		{"mtu", "01500", "", "1500"},
		{"ring rx", "0512", "", "512"},
		{"rx-buf-len", "02048", "", "2048"},
		{"feature rx-gro", "on", "", "on"},
		{"channels", "rx 0 tx 0 other 1 combined 2", "", "rx 0 tx 0 other 1 combined 2"},
		{"rule 10.0.0.2:1 > 10.0.0.1:2 queue 1", "present", "", "present"},
		{"rss-context 1,2", "absent", "", "absent"},
	} {
		if err := CheckSetting(c.name, c.typed); err != nil {
			t.Errorf("%s=%s: %v", c.name, c.typed, err)
			continue
		}
		s, err := new(Device).Setting(c.name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Canonical(c.typed)
		if err == nil {
			got, err = s.Whole(got, func() (string, error) { return c.found, nil })
		}
		if err != nil || got != c.set {
			t.Errorf("%s=%s: %q, %v; want %q", c.name, c.typed, got, err, c.set)
		}
		if again, err := s.Canonical(got); err != nil || again != got {
			t.Errorf("%s: %q is not canonical: %q, %v", c.name, got, again, err)
		}
	}
}

// Nonsense is refused before anything is looked at.
func TestCheckSetting(t *testing.T) {
	for _, c := range []struct{ name, value, say string }{
		{"nothing", "1", "unknown setting"},
		{"", "1", "unknown setting"},
		{"sysctl kernel.core_pattern", "|/x", "unknown setting"},
		{"mtu 1", "1500", "unknown setting"},
		{"../../mtu", "1500", "unknown setting"},
		{"rss x", "default", "takes no argument"},
		{"channels ", "rx 0 tx 0 other 0 combined 4", "takes no argument"},
		{"header-split 0", "tcp-data-split on", "takes no argument"},
		{"feature ../x", "on", "name of a feature"},
		{"feature ", "on", "name of a feature"},
		{"feature rx-gro\n", "on", "name of a feature"},
		{"ring ../x", "1", "unknown ring"},
		{"rps 0/../../x", "1", "number of a queue"},
		{"xps -1", "1", "number of a queue"},
		{"interrupt ../../sysrq-trigger", "0", "number of an interrupt"},
		{"rps 0", "1\n2", "CPU mask"},
		{"irq 0", "0\n1", "cpu list"},
		{"napi 3", "defer-hard-irqs 2", "want defer-hard-irqs N, gro-flush-timeout NS"},
		{"napi 3", "defer-hard-irqs -1, gro-flush-timeout 0, irq-suspend-timeout 0", "want defer-hard-irqs N"},
		{"napi 3", "defer-hard-irqs 1, gro-flush-timeout 0, irq-suspend-timeout 0, threaded maybe",
			"threaded off|on|busy-poll"},
		{"napi 03", "defer-hard-irqs 1, gro-flush-timeout 0, irq-suspend-timeout 0", "number of a queue"},
		{"header-split", "on", "want tcp-data-split auto|off|on"},
		{"header-split", "tcp-data-split on, hds-thresh -1", "hds-thresh BYTES"},
		{"irq 0", "0-", "cpu list"},
		{"irq 0", "", "is empty"},
		{"interrupt 5", "x", "cpu list"},
		{"rps 0", "0x1", "CPU mask"},
		{"rss", "0 x", `"x" is not the number of a queue`},
		{"rss", "", "0 entries"},
		{"rule 10.0.0.2:1 > 10.0.0.1:2 queue 1", "yes", `"yes" is not present or absent`},
		{"rss-context 1,2", "on", "present or absent"},
		{"feature rx-gro", "maybe", "on or off"},
		{"coalesce rx-usecs", "-1", "whole number"},
		{"coalesce adaptive-rx", "2", "on or off"},
		{"coalesce rx-nothing", "1", "rx-usecs"},
		{"mtu", "big", "whole number"},
		{"ring rx", "0", "from 1"},
		{"channels", "combined 4", "want rx N tx N"},
		{"channels", "rx -1 tx 0 other 0 combined 0", "want rx N tx N"},
	} {
		if err := CheckSetting(c.name, c.value); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s=%s: %v, want %q", c.name, c.value, err, c.say)
		}
	}
	var i *setting.Invalid
	if err := CheckSetting("irq 0", "x"); !errors.As(err, &i) {
		t.Errorf("%T", err)
	}
}

// Drivers that are left the choice tell what they chose.
func TestSplitFollows(t *testing.T) {
	for _, c := range []struct {
		set, now string
		want     bool
	}{
		{"tcp-data-split auto, hds-thresh 0", "tcp-data-split on, hds-thresh 0", true},
		{"tcp-data-split auto", "tcp-data-split off", true},
		{"tcp-data-split auto, hds-thresh 0", "tcp-data-split on, hds-thresh 256", false},
		{"tcp-data-split on", "tcp-data-split off", false},
		{"tcp-data-split off", "tcp-data-split auto", false},
	} {
		if got := splitFollows(c.set, c.now); got != c.want {
			t.Errorf("%s, then %s: %v", c.set, c.now, got)
		}
	}
}
