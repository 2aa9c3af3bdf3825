// SPDX-License-Identifier: MIT

package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/results"
)

func TestSettingsFlags(t *testing.T) {
	on, off, idle := true, false, 0
	for _, c := range []struct {
		args    []string
		cell    results.Cell
		sut, tg wire.Settings
		bad     bool
	}{
		{},
		{args: []string{"--mtu", "4148", "--gro", "off", "--hw-gro", "on", "--big-tcp", "128K", "--rx-ring", "4096", "--channels", "4", "--sysctl-profile", "reference", "--max-idle-us", "0"},
			cell: results.Cell{GRO: &off, HWGRO: &on, BigTCPBytes: 131072, TGBigTCPBytes: 131072},
			sut:  wire.Settings{MTU: 4148, RXRing: 4096, Channels: 4, SysctlProfile: "reference", MaxIdleUs: &idle},
			tg:   wire.Settings{MTU: 4148, RXRing: 4096, Channels: 4, SysctlProfile: "reference", MaxIdleUs: &idle}},
		{args: []string{"--big-tcp", "off", "--set", "coalesce rx-usecs=5", "--set", "sut:irq 3=0,1", "--set", "tg:rss=default"},
			cell: results.Cell{BigTCPBytes: 65536, TGBigTCPBytes: 65536},
			sut:  wire.Settings{Device: []wire.Setting{{Name: "coalesce rx-usecs", Value: "5"}, {Name: "irq 3", Value: "0,1"}}},
			tg:   wire.Settings{Device: []wire.Setting{{Name: "coalesce rx-usecs", Value: "5"}, {Name: "rss", Value: "default"}}}},
		{args: []string{"--gro", "yes"}, bad: true},
		{args: []string{"--big-tcp", "2000000"}, bad: true},
		{args: []string{"--sysctl-profile", "mine"}, bad: true},
		{args: []string{"--set", "coalesce"}, bad: true},
		{args: []string{"--set", "nothing=1"}, bad: true},
		{args: []string{"--set", "napi 3=defer-hard-irqs 2, x=y"}, bad: true},
		{args: []string{"--set", "tg:irq 0=0-"}, bad: true},
		{args: []string{"--mtu", "7"}, bad: true},
		{args: []string{"--huge-pages", "-1"}, bad: true},
	} {
		var s Settings
		cmd := &cobra.Command{}
		s.AddFlags(cmd, true)
		err := cmd.ParseFlags(c.args)
		if err == nil {
			err = s.Check()
		}
		if (err != nil) != c.bad {
			t.Errorf("%v: %v", c.args, err)
		}
		if c.bad {
			continue
		}
		var cell results.Cell
		s.Cell(&cell)
		sut, tg := s.Ends()
		if d := cmp.Diff(c.cell, cell) + cmp.Diff(c.sut, sut) + cmp.Diff(c.tg, tg); d != "" {
			t.Errorf("%v: %s", c.args, d)
		}
	}
}
