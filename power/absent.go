// SPDX-License-Identifier: MIT

package power

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/kernelfile"
)

// hostState is what a machine's kernel shows of why an instrument may not be there.
type hostState struct {
	sys     string // where sysfs is
	cpuinfo string
}

func thisHost() hostState {
	b, _ := kernelfile.ReadFile("/proc/cpuinfo")
	return hostState{"/sys", string(b)}
}

// loaded reports whether all of some modules are there, built in or not.
func (h hostState) loaded(modules ...string) bool {
	return !slices.ContainsFunc(modules, func(m string) bool {
		_, err := os.Stat(filepath.Join(h.sys, "module", m))
		return err != nil
	})
}

// virtual reports whether the processor says that there is a hypervisor.
func (h hostState) virtual() bool {
	for line := range strings.Lines(h.cpuinfo) {
		if flags, ok := strings.CutPrefix(line, "flags"); ok {
			return slices.Contains(strings.Fields(flags), "hypervisor")
		}
	}
	return false
}

// noRAPL advises what to do where there is no package zone.
func (h hostState) noRAPL() string {
	switch {
	case h.virtual():
		return "measure on the host: this is a virtual machine, which has none"
	case h.loaded("intel_rapl_msr"):
		return "dmesg | grep -i rapl says why: intel_rapl_msr is loaded, and found no counter; ipmi or redfish " +
			"may read the machine"
	}
	return "modprobe intel_rapl_msr (x86; CONFIG_POWERCAP, CONFIG_INTEL_RAPL)"
}

// noBMC advises what to do where there is no BMC device.
func (h hostState) noBMC() string {
	switch {
	case h.loaded("ipmi_si", "ipmi_devintf"):
		return "dmesg | grep -i ipmi says why: ipmi_si and ipmi_devintf are loaded, and found no BMC; redfish " +
			"reads one over the network"
	case h.virtual():
		return "measure on the host: this is a virtual machine, which rarely has a BMC; else modprobe ipmi_si " +
			"ipmi_devintf"
	}
	return "modprobe ipmi_si ipmi_devintf"
}
