// SPDX-License-Identifier: MIT

package matrix

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
)

// A file sets all that --set can, for all cells, as a factor and of one host; interrupts alone
// are a flag's, as their numbers are of one boot.
func TestFilesSetAllThatFlagsDo(t *testing.T) {
	of := func(s plan.Settings, name string) string {
		s.Dev = "eth0"
		return s.Value(name)
	}
	for _, x := range [][2]string{
		{"mtu", "4148"}, {"channels", "rx 0 tx 0 other 0 combined 4"}, {"ring rx", "512"}, {"ring tx", "512"},
		{"ring rx-jumbo", "512"}, {"rx-buf-len", "4096"}, {"feature rx-gro", "off"},
		{"header-split", "tcp-data-split on, hds-thresh 0"}, {"coalesce rx-usecs", "5"},
		{"coalesce adaptive-rx", "off"}, {"coalesce rx-frames", "64"},
		{"napi 3", "defer-hard-irqs 2, gro-flush-timeout 20000, irq-suspend-timeout 0"}, {"irq 3", "0-3"},
		{"rps 0", "ff"}, {"xps 0", "ff"}, {"rss", "default"},
		{"rss-context 1,2", "present"}, {"gso-max-size", "65536"},
	} {
		set := x[0] + "=" + x[1]
		if err := Settable(plan.LookupOption("set"), set); err != nil {
			t.Errorf("--set %q: %v", set, err)
		}
		for _, text := range []string{
			fmt.Sprintf("name: x\nfactors: {rx: tcp, tx: tcp}\nset: %q\n", set),
			fmt.Sprintf("name: x\nfactors: {rx: tcp, tx: tcp, set: [%q]}\n", set),
			fmt.Sprintf("name: x\nfactors: {rx: tcp, tx: tcp}\nsut: {settings: {set: [%q]}}\n", set),
		} {
			s := mustParse(t, text)
			if got := of(s.SUT.Settings.Of(stream.RX, s.Cells[0]), x[0]); got != x[1] {
				t.Errorf("%s%s is %q", text, x[0], got)
			}
		}
	}
	// What is of the hosts has keys of its own, as it has flags.
	s := mustParse(t, "name: x\nfactors: {rx: tcp, tx: tcp, stop_irqbalance: [true, false], max_idle_us: [0, "+
		"100], governor: performance}\n")
	if len(s.Cells) != 4 {
		t.Errorf("%d cells", len(s.Cells))
	}
	if _, err := Parse("f", []byte("name: x\nfactors: {rx: tcp, tx: tcp}\nset: interrupt 24=0-3\n")); err == nil ||
		!strings.Contains(err.Error(),
			"a file may move interrupts only by cpu_layout: their numbers hold for one boot of one host") {
		t.Error(err)
	}
}
