// SPDX-License-Identifier: MIT

package counter

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
)

// heat is how fast and how hot the CPUs are. Nil is not readable here, as in most
// virtual machines.
type heat struct {
	MHz   map[int]float64 // scaling_cur_freq of the CPUs that have it
	TempC *float64        // of the hottest CPU package, degrees Celsius
}

// cpuSensors are the names of hwmon devices that are CPUs, whose temp1 is the
// package or die (Documentation/hwmon of the kernel). On some of AMD's processors temp1, Tctl, is
// 10 to 27 K more than that, so that fans turn faster; there temp2 is Tdie
// (drivers/hwmon/k10temp.c: tctl_offset_table).
var cpuSensors = []string{"coretemp", "k10temp", "zenpower", "cpu_thermal"}

// readHeat reads the frequency of cpus (nil: all online ones) and the temperature
// of the packages.
func readHeat(fs FS, cpus []int) heat {
	if cpus == nil {
		cpus, _ = OnlineCPUs(fs)
	}
	h := heat{MHz: map[int]float64{}}
	for _, c := range cpus {
		if khz, err := strconv.ParseFloat(line(fs.sysPath("devices/system/cpu", fmt.Sprintf("cpu%d", c),
			"cpufreq/scaling_cur_freq")), 64); err == nil && khz > 0 {
			h.MHz[c] = khz / 1000
		}
	}
	devices, _ := filepath.Glob(fs.sysPath("class/hwmon/hwmon*"))
	for _, d := range devices {
		if !slices.Contains(cpuSensors, line(filepath.Join(d, "name"))) {
			continue
		}
		sensor := "temp1"
		if line(filepath.Join(d, "temp2_label")) == "Tdie" {
			sensor = "temp2"
		}
		if milli, err := strconv.ParseFloat(line(filepath.Join(d, sensor+"_input")), 64); err == nil {
			if t := milli / 1000; h.TempC == nil || t > *h.TempC {
				h.TempC = &t
			}
		}
	}
	return h
}

// mostlyBusy is from which share of the window that a CPU was busy its frequency is that of work:
// what one that idled reads is what its last wake-up or its governor left there.
const mostlyBusy = .5

// busyMHz computes the mean frequency of the measured CPUs that were busy; nil: none was, or it is
// not known of one that was.
func (c Change) busyMHz() *float64 {
	var sum, n float64
	for _, u := range c.CPU.PerCPU {
		if u.BusyCores == nil || *u.BusyCores < mostlyBusy {
			continue
		}
		mhz, ok := c.heat.MHz[u.CPU]
		if !ok {
			return nil
		}
		sum, n = sum+mhz, n+1
	}
	if n == 0 {
		return nil
	}
	return new(sum / n)
}
