// SPDX-License-Identifier: MIT

package power

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/privilege"
)

// The ACPI meter's driver of before 2025 has all its files, name too, in the device's
// folder.
func TestHwmonFilesOfTheDevice(t *testing.T) {
	sys := t.TempDir()
	device := filepath.Join(sys, "devices/LNXSYSTM:00/ACPI000D:00")
	dir := filepath.Join(device, "hwmon/hwmon2")
	for name, text := range map[string]string{"name": "power_meter", "power1_average": "319000000",
		"power1_average_interval": "1000",
		"power1_is_battery":       "0", "power1_model_number": "PM1", "power_state": "D0"} {
		write(t, filepath.Join(device, name), text+"\n")
	}
	write(t, filepath.Join(dir, "uevent"), "")
	link(t, "../../../ACPI000D:00", filepath.Join(dir, "device"))
	link(t, "../../devices/LNXSYSTM:00/ACPI000D:00/hwmon/hwmon2", filepath.Join(sys, "class/hwmon/hwmon2"))
	src, v, err := readHwmon(t, "hwmon?root="+filepath.Join(sys, "class/hwmon"))
	if err != nil {
		t.Fatal(err)
	}
	if i := src.Info(); v[0] != 319e6 || i.Scope != scopeBoard || i.Averages != time.Second ||
		summed(src) != "power_meter_power1" {
		t.Errorf("%v, %+v", v, i)
	}
	if _, _, err := readHwmon(t, "hwmon=power_meter?sensor=ACPI000D:00/power1&root="+filepath.Join(sys,
		"class/hwmon")); err != nil {
		t.Error(err)
	}
	write(t, filepath.Join(device, "power1_average"), "0\n")
	if err := src.Read(t.Context(), v); err == nil || !strings.Contains(err.Error(), "0 W") {
		t.Errorf("0 W: %v, %v", v, err)
	}
	write(t, filepath.Join(device, "power1_average"), "4294967295000\n") // _PMM's error, 0xffffffff
	if err := src.Read(t.Context(), v); err == nil {
		t.Errorf("an error of the firmware: %v", v)
	}
	write(t, filepath.Join(device, "power1_average_interval"), "4294967295\n")
	write(t, filepath.Join(device, "power1_average"), "319000000\n")
	if src = mustOpen(t, "hwmon?root="+filepath.Join(sys, "class/hwmon")); src.Info().Averages != 0 {
		t.Errorf("it averages over %v", src.Info().Averages)
	}
	write(t, filepath.Join(device, "power1_is_battery"), "1\n")
	if src = mustOpen(t, "hwmon?root="+filepath.Join(sys, "class/hwmon")); src.Info().Scope == scopeBoard {
		t.Error("a battery's meter is taken for the machine's")
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

// What is said of a machine without a sensor follows from what the kernel shows.
func TestNoSensorSaysWhy(t *testing.T) {
	sys := t.TempDir()
	root := filepath.Join(sys, "class/hwmon")
	write(t, filepath.Join(root, "hwmon0/name"), "nvme\n")
	write(t, filepath.Join(root, "hwmon0/temp1_input"), "40000\n")
	check := func(spec, why, fix, not string) {
		t.Helper()
		_, err := open(t, spec+"root="+root)
		if err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(fixOf(err), fix) ||
			strings.Contains(fixOf(err), not) {
			t.Errorf("%v, fix %q; want %q, %q and not %q", err, fixOf(err), why, fix, not)
		}
	}
	check("hwmon?", "no ACPI power meter", "another source", "modprobe")
	link(t, "../../../devices/ACPI000D:00", filepath.Join(sys, "bus/acpi/devices/ACPI000D:00"))
	check("hwmon?", "whose driver is not loaded", "modprobe acpi_power_meter", "dmesg")
	if err := os.MkdirAll(filepath.Join(sys, "module/acpi_power_meter"), 0o755); err != nil {
		t.Fatal(err)
	}
	check("hwmon?", "acpi_power_meter is loaded", "dmesg", "modprobe")
	check("hwmon=ina238?", "the other devices are nvme", "name one", "modprobe")
}

// Several meters of the machine are not added, and each is listed with what tells it
// from the others.
func TestSeveralACPIMeters(t *testing.T) {
	root := t.TempDir()
	for i, w := range []string{"200000000", "210000000"} {
		dir := filepath.Join(root, []string{"hwmon1", "hwmon4"}[i])
		write(t, dir+"/name", "power_meter\n")
		write(t, dir+"/power1_average", w+"\n")
		write(t, dir+"/power1_oem_info", []string{"PSU A", "System"}[i]+"\n")
	}
	_, err := open(t, "hwmon?root="+root)
	if err == nil || !strings.Contains(err.Error(),
		"hwmon1/power1 (power_meter, PSU A: 200 W), hwmon4/power1 (power_meter, System: 210 W)") ||
		!strings.Contains(fixOf(err), "hwmon?sensor=hwmon1/power1") {
		t.Errorf("%v, fix %q", err, fixOf(err))
	}
	if src := mustOpen(t, "hwmon?sensor=hwmon4/power1&root="+root); summed(src) != "power_meter_power1_hwmon4" {
		t.Errorf("%q", summed(src))
	}
	// Of two supplies that the user adds one may stand by, but not both.
	src := mustOpen(t, "hwmon?sensor=hwmon1/power1;hwmon4/power1&root="+root)
	v := make([]int64, 2)
	write(t, root+"/hwmon1/power1_average", "0\n")
	if err := src.Read(t.Context(), v); err != nil || v[0] != 0 || v[1] != 210e6 {
		t.Errorf("%v, %v", v, err)
	}
	write(t, root+"/hwmon4/power1_average", "0\n")
	if err := src.Read(t.Context(), v); err == nil {
		t.Errorf("both read 0: %v", v)
	}
	// Beside other sources they are still read.
	found, err := openHwmon(Spec{Name: "hwmon", Options: map[string][]string{"root": {root}}})
	if err != nil || found.info.NoSum == nil {
		t.Errorf("%v, %+v", err, found)
	}
}

// The fix for sensors that are there follows from why they cannot be read.
func TestHwmonRefused(t *testing.T) {
	for fix, err := range map[string]error{
		"measure on the host": errors.Join(&kernelfile.NotKernels{Path: "/sys/class/hwmon/hwmon0/power1_average"}),
		"dmesg shows":         &os.PathError{Op: "open", Path: "power1_average", Err: unix.ENXIO},
		privilege.Fix(privilege.File, unix.CAP_DAC_READ_SEARCH): &os.PathError{Op: "open", Path: "power1_average",
			Err: unix.EACCES},
	} {
		if u := hwmonRefused(err); !strings.Contains(u.How, fix) || !strings.Contains(u.Why, "power1_average") {
			t.Errorf("%v: %q, fix %q; want %q", err, u.Why, u.How, fix)
		}
	}
}
