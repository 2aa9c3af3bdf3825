// SPDX-License-Identifier: MIT

package power

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// noSensor explains why there is no power sensor, from what the kernel shows: which devices there
// are, whether the firmware has an ACPI power meter, and whether its driver is there.
func noSensor(root, target string, others []string) *unavailable {
	if slices.Sort(others); target != "" && len(others) > 0 {
		return &unavailable{fmt.Sprintf("no device %q with a power sensor in %s; the other devices are %s",
			target, root, listed(slices.Compact(others))),
			"name one that has a power sensor, or none: zcbench power --source hwmon lists them"}
	}
	sys, ok := strings.CutSuffix(filepath.Clean(root), "/class/hwmon")
	if !ok {
		return &unavailable{fmt.Sprintf("no power sensor in %s", root),
			"give the folder that has hwmon0, hwmon1, ... with root=, or leave it out"}
	}
	const driver = "acpi_power_meter"
	meters, _ := filepath.Glob(filepath.Join(sys, "bus/acpi/devices/ACPI000D:*"))
	_, err := os.Stat(filepath.Join(sys, "module", driver))
	switch loaded := err == nil; {
	case len(meters) == 0:
		return &unavailable{fmt.Sprintf(
			"no power sensor in %s, and the firmware has no ACPI power meter (no device ACPI000D)", root),
			"use another source: zcbench power --source list shows what is here; a BMC has redfish or ipmi"}
	case !loaded:
		return &unavailable{fmt.Sprintf(
			"no power sensor in %s; the firmware has the ACPI power meter %s, whose driver is not loaded", root,
			filepath.Base(meters[0])),
			"modprobe " + driver}
	}
	return &unavailable{fmt.Sprintf("no power sensor in %s, though the firmware has the ACPI power meter %s and "+
		"%s is loaded: it gives no reading", root, filepath.Base(meters[0]), driver),
		"dmesg | grep -i power_meter says why; ipmi or redfish may read what the firmware does not give"}
}
