// SPDX-License-Identifier: MIT

package power

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A module that is loaded is not asked for again.
func TestAbsentInstruments(t *testing.T) {
	load := func(modules ...string) hostState {
		h := hostState{sys: t.TempDir(), cpuinfo: "processor\t: 0\nflags\t\t: fpu sse2\n"}
		for _, m := range modules {
			if err := os.MkdirAll(filepath.Join(h.sys, "module", m), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return h
	}
	guest := load()
	guest.cpuinfo = "flags\t\t: fpu hypervisor\n"
	for _, c := range []struct {
		got, want, not string
	}{
		{load().noRAPL(), "modprobe intel_rapl_msr", "dmesg"},
		{load("intel_rapl_msr").noRAPL(), "dmesg", "modprobe"},
		{guest.noRAPL(), "on the host", "modprobe"},
		{load().noBMC(), "modprobe ipmi_si ipmi_devintf", "dmesg"},
		{load("ipmi_si").noBMC(), "modprobe", "dmesg"},
		{load("ipmi_si", "ipmi_devintf").noBMC(), "dmesg", "modprobe"},
		{guest.noBMC(), "on the host", "dmesg"},
	} {
		if !strings.Contains(c.got, c.want) || strings.Contains(c.got, c.not) {
			t.Errorf("%q; want %q and not %q", c.got, c.want, c.not)
		}
	}
}
