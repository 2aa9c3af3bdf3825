// SPDX-License-Identifier: MIT

package counter

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A tree as intel_idle makes it.
func TestIdleStates(t *testing.T) {
	sys := t.TempDir()
	fs, err := NewFS(t.TempDir(), sys)
	if err != nil {
		t.Fatal(err)
	}
	put(t, sys+"/devices/system/cpu/online", "0-1\n")
	if s, err := ReadIdleStates(fs, nil); err != nil || s != nil {
		t.Errorf("without cpuidle: %v, %v", s, err)
	}
	set := func(cpu, state int, name string, us, usage uint64) {
		dir := fmt.Sprintf("%s/devices/system/cpu/cpu%d/cpuidle/state%d/", sys, cpu, state)
		put(t, dir+"name", name+"\n")
		put(t, dir+"time", fmt.Sprintln(us))
		put(t, dir+"usage", fmt.Sprintln(usage))
	}
	for cpu := range 2 {
		set(cpu, 0, "POLL", 100, 1)
		set(cpu, 1, "C1", 1e6, 10)
		set(cpu, 2, "C1E", 5, 2)
		set(cpu, 3, "C6", 90e6, 700)
	}
	before, err := ReadIdleStates(fs, nil)
	if err != nil || len(before) != 8 {
		t.Fatalf("%v, %v", before, err)
	}
	set(0, 0, "POLL", 100+50e3, 6)
	set(0, 3, "C6", 90e6+1.5e6, 720)
	set(1, 3, "C6", 90e6+2.5e6, 701)
	after, err := ReadIdleStates(fs, nil)
	if err != nil {
		t.Fatal(err)
	}
	var r rows
	r.idleStates(idleStatesBetween(before, after), 2)
	for name, want := range map[string]float64{"cpuidle_cpu0_poll_cores": 0.025, "cpuidle_cpu0_poll_entries": 5,
		"cpuidle_cpu0_c6_cores": 0.75, "cpuidle_cpu1_c6_cores": 1.25,
		"cpuidle_c6_cores": 2, "cpuidle_c1e_cores": 0, "cpuidle_cpu0_c6_entries": 20} {
		found := false
		for _, m := range r.out {
			if m.Named() != name {
				continue
			}
			found = true
			if math.Abs(m.Value-want) > 1e-12 || (m.Quality != "") != (name == "cpuidle_cpu1_c6_cores") {
				t.Errorf("%+v, want %v", m, want)
			}
		}
		if !found {
			t.Errorf("no metric %s", name)
		}
	}
	if got := idleStatesBetween(after, before); len(got) != 8-3 {
		t.Errorf("states whose counters fell are there: %v", got)
	}
	put(t, sys+"/devices/system/cpu/cpu1/cpuidle/state1/time", "x\n")
	if _, err := ReadIdleStates(fs, nil); err == nil || !strings.Contains(err.Error(), "cpu1/cpuidle/state1/time") {
		t.Errorf("garbage: %v", err)
	}
}

func TestThrottle(t *testing.T) {
	sys := t.TempDir()
	fs, err := NewFS(t.TempDir(), sys)
	if err != nil {
		t.Fatal(err)
	}
	put(t, sys+"/devices/system/cpu/online", "0-1\n")
	if s, err := ReadThrottle(fs, nil); err != nil || s != nil {
		t.Errorf("without counters: %v, %v", s, err)
	}
	for cpu := range 2 {
		dir := fmt.Sprintf("%s/devices/system/cpu/cpu%d/thermal_throttle/", sys, cpu)
		put(t, dir+"core_throttle_count", "3\n")
		put(t, dir+"package_throttle_count", "7\n")
	}
	before, err := ReadThrottle(fs, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The times, which this processor does not have, are no rows of 0.
	var calm rows
	if w := calm.throttle(before, before); w != "" || len(calm.out) != 2 ||
		calm.out[0].Name != "throttle_core_events" || calm.out[1].Name != "throttle_package_events" {
		t.Errorf("%q %v", w, calm.out)
	}
	for cpu := range 2 {
		dir := fmt.Sprintf("%s/devices/system/cpu/cpu%d/thermal_throttle/", sys, cpu)
		put(t, dir+"core_throttle_count", "5\n")
		put(t, dir+"package_throttle_count", "8\n")
		put(t, dir+"core_throttle_total_time_ms", "12\n")
	}
	after, _ := ReadThrottle(fs, nil)
	var hot rows
	if w := hot.throttle(before, after); !strings.Contains(w, "too hot") || len(hot.out) != 2 ||
		hot.out[0].Value != 4 || hot.out[1].Value != 1 {
		t.Errorf("%q %v", w, hot.out)
	}
	var reset rows
	if w := reset.throttle(after, before); w != "" || len(reset.out) != 0 {
		t.Errorf("counters that fell: %q %v", w, reset.out)
	}
	put(t, sys+"/devices/system/cpu/cpu1/thermal_throttle/package_throttle_count", "x\n")
	if _, err := ReadThrottle(fs, nil); err == nil ||
		!strings.Contains(err.Error(), "cpu1/thermal_throttle/package_throttle_count") {
		t.Errorf("garbage: %v", err)
	}
}

// What this machine's processor counts; where it cannot, the reason is named.
func TestPMU(t *testing.T) {
	p := OpenPMU(FS{}, nil)
	defer p.Close()
	before, err := p.Read()
	if err != nil {
		t.Fatal(err)
	}
	for from := ownThreadClock(); ownThreadClock()-from < 20e6; {
	}
	after, err := p.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{pmuCycles, pmuAPERF, pmuMPERF, pmuTSC} {
		var grown uint64
		for i := range after[name] {
			grown += after[name][i].Value - before[name][i].Value
		}
		switch why := p.Missing[name]; {
		case after[name] == nil && why == "":
			t.Errorf("%s is missing without a reason", name)
		case after[name] != nil && why != "":
			t.Errorf("%s is there, and missing: %s", name, why)
		case after[name] != nil && grown == 0:
			t.Errorf("%s stood still", name)
		}
		t.Logf("%s: %d, %s", name, grown, p.Missing[name])
	}
}

func TestPMUFigures(t *testing.T) {
	var r rows
	r.pmu([]int{4, 5}, EventCounts{"cycles": alwaysCounted(0, 0, 100), "aperf": alwaysCounted(0, 0, 0),
		"mperf": alwaysCounted(0, 0, 0), "tsc": alwaysCounted(0, 0, 0)},
		EventCounts{"cycles": alwaysCounted(1e9, 3e9, 1e9+100), "aperf": alwaysCounted(1e9, 3e9, 1e9),
			"mperf": alwaysCounted(1e9, 2e9, 1e9), "tsc": alwaysCounted(1e9, 2e9, 2e9)}, 1.01, "")
	want := map[string]float64{"pmu_cpu4_cycles_per_s": 3e9, "pmu_cpu5_cycles_per_s": 1e9, "pmu_cycles": 4e9,
		"pmu_cpu4_ghz": 3, "pmu_cpu5_ghz": 2, "pmu_ghz": 4. / 3 * 2}
	for _, m := range r.out {
		name := m.Named()
		if math.Abs(m.Value-want[name]) > 1e-6*want[name] {
			t.Errorf("%s = %v, want %v", name, m.Value, want[name])
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	var none rows
	none.pmu([]int{0}, EventCounts{}, EventCounts{}, 1, "")
	if len(none.out) > 0 {
		t.Errorf("figures of nothing: %v", none.out)
	}
}

// Idle time in which a CPU spins is told apart: by its state, and where the kernel always spins.
func TestIdlePolled(t *testing.T) {
	busy := .25
	u := CPUUsage{WallS: 2, CPUFigures: CPUFigures{BusyCores: &busy},
		PerCPU: []OneCPUUsage{{CPUFigures: CPUFigures{BusyCores: &busy}}}}
	states := []IdleState{{Name: "POLL", TimeUs: 600_000}, {Name: "haltpoll idle", TimeUs: 800_000},
		{CPU: 1, Name: "POLL", TimeUs: 200_000}}
	for _, x := range []struct {
		states []IdleState
		always bool
		want   float64 // -1: not known
	}{{states, false, .4}, {states[1:2], false, -1}, {nil, false, -1}, {nil, true, .75}} {
		var r rows
		r.idlePolled(x.states, x.always, u)
		got := -1.
		if len(r.out) == 1 {
			got = r.out[0].Value
		}
		if d := got - x.want; d > 1e-9 || d < -1e-9 {
			t.Errorf("%+v: %g", x, got)
		}
	}
}
