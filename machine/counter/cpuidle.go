// SPDX-License-Identifier: MIT

package counter

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/machine/measure"
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
	b, err := kernelfile.ReadFile(path)
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is not a count", path, strings.TrimSpace(string(b)))
	}
	return v, nil
}

// idleStatesBetween computes by how much each state's time and usage grew. It leaves out states
// that either side lacks, or whose counters were reset.
func idleStatesBetween(before, after []IdleState) []IdleState {
	var out []IdleState
	for _, a := range after {
		i := slices.IndexFunc(before, func(b IdleState) bool { return b.CPU == a.CPU && b.Name == a.Name })
		if i < 0 {
			continue
		}
		var slept, entered bool // the counter fell
		a.TimeUs, slept = since(before[i].TimeUs, a.TimeUs)
		a.Usage, entered = since(before[i].Usage, a.Usage)
		if !slept && !entered {
			out = append(out, a)
		}
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
			quality = "longer than the window: a sleep that began before it"
		}
		r.add(measure.MetricIdleState, "cores", cores, cpuidleSource, quality, strconv.Itoa(d.CPU), name)
		r.add(fmt.Sprintf("cpuidle_cpu%d_%s_entries", d.CPU, name), "1", float64(d.Usage), cpuidleSource, "")
	}
	for _, n := range names {
		r.add("cpuidle_"+n+"_cores", "cores", sums[n], cpuidleSource, "")
	}
}

// idlePolled tells how much of the idle time CPUs spun: it is idle to the scheduler, costs power,
// and takes from the other thread of a core. The kernel does that in the state POLL, which is also
// that of haltpoll in a virtual machine (drivers/cpuidle/poll_state.c, cpuidle-haltpoll.c), and
// always where it was told to, which leaves no states.
func (r *rows) idlePolled(ds []IdleState, always bool, u CPUUsage) {
	if u.WallS <= 0 {
		return
	}
	if always && u.BusyCores != nil {
		idle := 0.
		for _, c := range u.PerCPU {
			if c.BusyCores != nil {
				idle += 1 - *c.BusyCores
			}
		}
		r.add("idle_polled_cores", "cores", idle, "/proc/cmdline idle=poll", "")
		return
	}
	var sum float64
	known := false
	for _, d := range ds {
		if strings.EqualFold(d.Name, "POLL") {
			sum, known = sum+float64(d.TimeUs)/1e6/u.WallS, true
		}
	}
	if known {
		r.add("idle_polled_cores", "cores", sum, cpuidleSource, "")
	}
}

// Throttle is how often the CPUs slowed down because they, or their packages,
// were too hot (arch/x86/kernel/cpu/mce/therm_throt.c). Nil is a counter that this
// kernel or processor does not have.
type Throttle struct {
	CPU       int
	Core      *uint64 // core_throttle_count
	Package   *uint64 // package_throttle_count, the same on all CPUs of a package
	CoreMs    *uint64 // core_throttle_total_time_ms
	PackageMs *uint64 // package_throttle_total_time_ms
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
		if err := kernelfile.Check(dir); kernelfile.IsNotKernels(err) { // Docker hides it
			return nil, fmt.Errorf("read throttling counters of CPU %d: %w", c, mounted(err))
		}
		t := Throttle{CPU: c}
		for _, k := range throttleCounters {
			switch v, err := readCount(filepath.Join(dir, k.file)); {
			case err == nil:
				*k.of(&t) = &v
			case !errors.Is(err, iofs.ErrNotExist):
				return nil, fmt.Errorf("read throttling counters of CPU %d: %w", c, err)
			}
		}
		if t != (Throttle{CPU: c}) {
			out = append(out, t)
		}
	}
	return out, nil
}

// throttleCounters are the counters and the rows that Delta makes of them: those of
// cores summed up, those of packages the most that any CPU saw of its own.
var throttleCounters = []struct {
	file, name, unit string
	of               func(*Throttle) **uint64
	most             bool
}{
	{"core_throttle_count", "core_events", "1", func(t *Throttle) **uint64 { return &t.Core }, false},
	{"package_throttle_count", "package_events", "1", func(t *Throttle) **uint64 { return &t.Package }, true},
	{"core_throttle_total_time_ms", "core_ms", "ms", func(t *Throttle) **uint64 { return &t.CoreMs }, false},
	{"package_throttle_total_time_ms", "package_ms", "ms", func(t *Throttle) **uint64 { return &t.PackageMs }, true},
}

// throttle reports what the CPUs were throttled; a row is there if both readings
// have its counter for a CPU. Any of it is a warning.
func (r *rows) throttle(before, after []Throttle) (warning string) {
	for _, k := range throttleCounters {
		var total uint64
		n := 0
		for _, a := range after {
			i := slices.IndexFunc(before, func(b Throttle) bool { return b.CPU == a.CPU })
			if i < 0 {
				continue
			}
			from, to := *k.of(&before[i]), *k.of(&a)
			if from == nil || to == nil {
				continue
			}
			d, fell := since(*from, *to)
			switch {
			case fell:
				continue
			case k.most:
				total = max(total, d)
			default:
				total += d
			}
			n++
		}
		if n == 0 {
			continue
		}
		r.add("throttle_"+k.name, k.unit, float64(total), "/sys/devices/system/cpu/cpuN/thermal_throttle", "")
		if total > 0 {
			warning = "the measured CPUs were throttled in the window because they were too hot"
		}
	}
	return warning
}

// IdleMetrics describe idle states.
var IdleMetrics = []measure.MetricDoc{
	{Names: "cpuidle_STATE_cores cpuidle_cpuN_STATE_cores",
		Units: "cores", Source: "/sys/devices/system/cpu/cpuN/cpuidle",
		Meaning: "time in an idle state, POLL, C1, C1E, C6 and so on, over the measured CPUs " +
			"and by CPU"},
	{Names: "idle_polled_cores",
		Units: "cores", Source: "/sys/devices/system/cpu/cpuN/cpuidle; /proc/cmdline idle=poll",
		Meaning: "of the idle time, that in which the measured CPUs spun: the state POLL, haltpoll's too, " +
			"or, with idle=poll, all of it"},
	{Names: "cpuidle_cpuN_STATE_entries",
		Units: "1", Source: "/sys/devices/system/cpu/cpuN/cpuidle",
		Meaning: "times that it was entered"},
}

// ThrottleMetrics describe thermal throttling.
var ThrottleMetrics = []measure.MetricDoc{
	{Names: "throttle_core_events throttle_package_events throttle_core_ms " +
		"throttle_package_ms",
		Units: "1 1 ms ms", Source: "/sys/devices/system/cpu/cpuN/thermal_throttle",
		Meaning: "thermal throttling, each where the CPUs have its counter"},
}
