// SPDX-License-Identifier: MIT

package doctor

import (
	"slices"
	"strings"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/power"
)

// powerChecks checks the power sources that need not be told where to look.
func powerChecks() []wire.Check {
	var out []wire.Check
	for _, f := range power.Survey() {
		if !f.Target {
			out = append(out, powerCheck(f))
		}
	}
	return out
}

// powerCheck checks one source: a doubt about it is a warning here, before a run gives one.
func powerCheck(f power.Found) wire.Check {
	c := wire.Check{Name: "power: " + f.Name, Status: "ok", Found: f.Here, Needed: f.Summary, Fix: f.Fix}
	switch {
	case f.Why != "":
		c.Status, c.Found = "lacking", f.Why
	case f.Doubt != "":
		c.Status, c.Found = "warn", strings.TrimPrefix(f.Here+"; in doubt: "+f.Doubt, "; ")
	}
	return c
}

// pmuChecks checks the counters of processor and memory controllers, as a run on CPU 0 has them.
func pmuChecks() []wire.Check { return hardwareChecks(counter.FS{}) }

func hardwareChecks(fs counter.FS) []wire.Check {
	h := counter.OpenHardware(fs, []int{0})
	defer h.Close()
	check := func(name, found, missing, fix, needed string) wire.Check {
		if missing != "" {
			return wire.Check{Name: name, Status: "lacking", Found: missing, Needed: needed, Fix: fix}
		}
		return wire.Check{Name: name, Status: "ok", Found: found, Needed: needed}
	}
	misses, by := h.PMU.Missing["llc_misses"], "counts"
	if misses != "" && h.L3.Missing == "" {
		misses, by = "", "counts (amd_l3), of all CPUs that share the L3 cache"
	}
	return []wire.Check{
		check("perf cycles", "counts", h.PMU.Missing["cycles"], "", "a PMU, for cycles per byte"),
		check("perf instructions", "counts", h.PMU.Missing["instructions"], "",
			"a PMU, for instructions per kB and per cycle"),
		check("perf LLC misses", by, misses, "", "a PMU of the last-level cache, for its misses per kB"),
		check("perf aperf/mperf", "counts", h.PMU.Missing["aperf"], "", "the msr PMU, for the frequency under load"),
		check("perf DRAM", "counts", h.DRAM.Missing, "", "PMUs of the memory controllers, for bytes of DRAM"),
		check("resctrl MBM", "counts, of "+h.MBM.Of(), h.MBM.Missing, h.MBM.Fix,
			"memory bandwidth monitoring, for bytes between caches and memory"),
	}
}

// idleChecks checks what the kernel counts of idling and of heat.
func idleChecks(fs counter.FS) []wire.Check {
	idle := wire.Check{Name: "idle states", Status: "lacking", Needed: "cpuidle, for the time in POLL, C1, C6...",
		Found: "no CPU has any: a virtual machine, idle=poll, or no cpuidle driver " +
			"(/sys/devices/system/cpu/cpuidle/current_driver)"}
	states, err := counter.ReadIdleStates(fs, nil)
	switch {
	case err != nil:
		idle.Found = err.Error()
	case len(states) > 0:
		var names []string
		for _, s := range states {
			if !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
			}
		}
		idle.Status, idle.Found = "ok", strings.Join(names, " ")
	}
	heat := wire.Check{Name: "throttling counters", Status: "lacking",
		Needed: "thermal_throttle, to see CPUs that slow down",
		Found:  "no CPU has any: a virtual machine, or not an Intel x86 CPU"}
	switch t, err := counter.ReadThrottle(fs, nil); {
	case err != nil:
		heat.Found = err.Error()
	case len(t) > 0:
		heat.Status, heat.Found = "ok", "counted"
	}
	if err := notTheCPUs(); err != nil && fs == (counter.FS{}) {
		for _, c := range []*wire.Check{&idle, &heat} {
			c.Status, c.Found, c.Fix = "lacking", err.Error(), fault.Fix(err)
		}
	}
	return []wire.Check{idle, heat}
}
