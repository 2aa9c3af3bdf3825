package counter

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// IdleState is one idle state of one CPU, as
// /sys/devices/system/cpu/cpuN/cpuidle/stateM has it (drivers/cpuidle/sysfs.c).
// POLL is a state too: the CPU is idle to the scheduler and spins.
type IdleState struct {
	CPU    int
	Name   string // "POLL", "C1", "C1E", "C6"
	TimeUs uint64 // residency, microseconds
	Usage  uint64 // times entered
}

// ReadIdleStates reads the idle states of cpus, nil for all online ones. A host
// without cpuidle, as most virtual machines, has none.
func ReadIdleStates(fs FS, cpus []int) ([]IdleState, error) {
	if cpus == nil {
		var err error
		if cpus, err = OnlineCPUs(fs); err != nil {
			return nil, err
		}
	}
	var out []IdleState
	for _, c := range cpus {
		root := fs.sysPath("devices/system/cpu", fmt.Sprintf("cpu%d", c), "cpuidle")
		for i := 0; ; i++ {
			dir := filepath.Join(root, fmt.Sprintf("state%d", i))
			if _, err := os.Stat(dir); err != nil {
				break
			}
			s := IdleState{CPU: c, Name: line(filepath.Join(dir, "name"))}
			var err error
			if s.TimeUs, err = readCount(filepath.Join(dir, "time")); err != nil {
				return nil, fmt.Errorf("read idle states of CPU %d: %w", c, err)
			}
			if s.Usage, err = readCount(filepath.Join(dir, "usage")); err != nil {
				return nil, fmt.Errorf("read idle states of CPU %d: %w", c, err)
			}
			out = append(out, s)
		}
	}
	return out, nil
}

func readCount(path string) (uint64, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is no count", path, strings.TrimSpace(string(b)))
	}
	return v, nil
}

// IdleStatesBetween is what each state's time and usage grew by; states that
// either side lacks are left out.
func IdleStatesBetween(before, after []IdleState) []IdleState {
	var out []IdleState
	for _, a := range after {
		i := slices.IndexFunc(before, func(b IdleState) bool { return b.CPU == a.CPU && b.Name == a.Name })
		if i < 0 {
			continue
		}
		a.TimeUs, _ = since(before[i].TimeUs, a.TimeUs)
		a.Usage, _ = since(before[i].Usage, a.Usage)
		out = append(out, a)
	}
	return out
}

const cpuidleSource = "/sys/devices/system/cpu/cpuN/cpuidle"

// idleStates reports each state of each CPU as its share of the window, and the
// sums over the CPUs. A state's time is booked when it is left, so that a long
// sleep over the window's edge can make a share exceed 1.
func (r *rows) idleStates(ds []IdleState, wall float64) {
	if wall <= 0 {
		return
	}
	var names []string
	sums := map[string]float64{}
	for _, d := range ds {
		cores := float64(d.TimeUs) / 1e6 / wall
		name := strings.ToLower(strings.ReplaceAll(d.Name, " ", "_"))
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		sums[name] += cores
		quality := ""
		if cores > 1+1e-3 {
			quality = "more than the window: a sleep that began before it"
		}
		r.add(fmt.Sprintf("cpuidle_cpu%d_%s_cores", d.CPU, name), "cores", cores, cpuidleSource, quality)
		r.add(fmt.Sprintf("cpuidle_cpu%d_%s_entries", d.CPU, name), "1", float64(d.Usage), cpuidleSource, "")
	}
	for _, n := range names {
		r.add("cpuidle_"+n+"_cores", "cores", sums[n], cpuidleSource, "")
	}
}

// Throttle is how often the CPUs slowed down because they, or their packages,
// were too hot (arch/x86/kernel/cpu/mce/therm_throt.c).
type Throttle struct {
	CPU       int
	Core      uint64 // core_throttle_count
	Package   uint64 // package_throttle_count, the same on all CPUs of a package
	CoreMs    uint64 // core_throttle_total_time_ms
	PackageMs uint64 // package_throttle_total_time_ms
}

// ReadThrottle reads the throttling counters of cpus, nil for all online ones.
// Processors without them have none.
func ReadThrottle(fs FS, cpus []int) ([]Throttle, error) {
	if cpus == nil {
		var err error
		if cpus, err = OnlineCPUs(fs); err != nil {
			return nil, err
		}
	}
	var out []Throttle
	for _, c := range cpus {
		dir := fs.sysPath("devices/system/cpu", fmt.Sprintf("cpu%d", c), "thermal_throttle")
		t := Throttle{CPU: c}
		var err error
		if t.Core, err = readCount(filepath.Join(dir, "core_throttle_count")); err != nil {
			continue
		}
		// Not every kernel and processor has the others.
		t.Package, _ = readCount(filepath.Join(dir, "package_throttle_count"))
		t.CoreMs, _ = readCount(filepath.Join(dir, "core_throttle_total_time_ms"))
		t.PackageMs, _ = readCount(filepath.Join(dir, "package_throttle_total_time_ms"))
		out = append(out, t)
	}
	return out, nil
}

// throttle reports the sum over the CPUs of core throttling, and the most that
// any of them saw of its package's. Any of it is a warning.
func (r *rows) throttle(before, after []Throttle) (warning string) {
	var core, pkg, coreMs, pkgMs uint64
	n := 0
	for _, a := range after {
		i := slices.IndexFunc(before, func(b Throttle) bool { return b.CPU == a.CPU })
		if i < 0 {
			continue
		}
		n++
		b := before[i]
		d, _ := since(b.Core, a.Core)
		core += d
		d, _ = since(b.CoreMs, a.CoreMs)
		coreMs += d
		d, _ = since(b.Package, a.Package)
		pkg = max(pkg, d)
		d, _ = since(b.PackageMs, a.PackageMs)
		pkgMs = max(pkgMs, d)
	}
	if n == 0 {
		return ""
	}
	const source = "/sys/devices/system/cpu/cpuN/thermal_throttle"
	r.add("throttle_core_events", "1", float64(core), source, "")
	r.add("throttle_package_events", "1", float64(pkg), source, "")
	r.add("throttle_core_ms", "ms", float64(coreMs), source, "")
	r.add("throttle_package_ms", "ms", float64(pkgMs), source, "")
	if core+pkg > 0 {
		return "the measured CPUs slowed down in the window because they were too hot"
	}
	return ""
}
