// SPDX-License-Identifier: MIT

package counter

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/machine/measure"

	"github.com/zcbench/zcbench/internal/kernelfile"
)

// CPUSnapshot is /proc/stat at one moment: one entry per online CPU.
type CPUSnapshot struct {
	AtNs   int64      // CLOCK_MONOTONIC, middle of the read
	ReadNs int64      // how long the read took: AtNs is right to half of it
	CPUs   []CPUTicks // ascending by CPU
	// SampledIdle is set on a kernel whose idle column is tick-sampled too, so
	// that the residual is no better than the columns.
	SampledIdle bool
	// PolledIdle: the kernel was told to spin where there is nothing to do (idle=poll).
	PolledIdle bool
	// Missing is why there are no CPUs in a snapshot that [Take] took without; "": there are.
	Missing string
}

// ReadCPU reads /proc/stat with the clock read right before and after it. In a container
// that file may be one of lxcfs, which has the container's times in it and counts others' as
// idle: then the error is a [kernelfile.NotKernels].
func ReadCPU(fs FS) (CPUSnapshot, error) {
	s := idleOf(line(fs.procPath("cmdline")))
	f, err := kernelfile.Open(fs.procPath("stat"))
	if err != nil {
		return s, fmt.Errorf("read cpu columns: %w", mounted(err))
	}
	defer f.Close()
	// One read of the cpu lines is one pass of show_stat: the columns of all
	// CPUs belong together. What comes after them may be cut off.
	buf := make([]byte, statBufLen)
	from := Monotonic()
	n, err := f.ReadAt(buf, 0)
	to := Monotonic()
	if n == 0 && err != nil {
		return s, fmt.Errorf("read cpu columns: %w", mounted(err))
	}
	s.AtNs, s.ReadNs = from+(to-from)/2, to-from
	if s.CPUs, err = parseStat(wholeLines(buf[:n], n == len(buf)), nil); err != nil {
		return s, err
	}
	if len(s.CPUs) == 0 {
		return s, fmt.Errorf("read cpu columns: no cpu lines in %s: mount /proc", f.Name())
	}
	return s, nil
}

// statBufLen holds the cpu lines of 2048 CPUs up for years, about 100 bytes each.
const statBufLen = 256 << 10

// wholeLines drops a last line that the buffer's end cut through.
func wholeLines(b []byte, full bool) []byte {
	if !full {
		return b
	}
	return b[:bytes.LastIndexByte(b, '\n')+1]
}

// idleOf returns what the kernel's command line says of idle time.
func idleOf(cmdline string) CPUSnapshot {
	return CPUSnapshot{SampledIdle: sampledIdle(cmdline), PolledIdle: slices.Contains(strings.Fields(cmdline),
		"idle=poll")}
}

// sampledIdle reports whether the command line turns the measured idle time off
// (kernel/time/tick-sched.c, setup_tick_nohz; kernel/time/hrtimer.c).
func sampledIdle(cmdline string) bool {
	for w := range strings.FieldsSeq(cmdline) {
		switch w {
		case "nohz=off", "nohz=0", "highres=off", "highres=0":
			return true
		}
	}
	return false
}

// CPUFigures are processor times over a window in cores: 1.0 is one CPU for the
// whole window. Nil is not measured.
type CPUFigures struct {
	BusyCores   *float64 // wall - d(idle) - d(iowait), within 0 and wall; time stolen while not idle is in it
	AppCores    *float64 // user and nice, as their share of busy
	SysCores    *float64 // system, as its share of busy
	SoftCores   *float64 // softirq and irq, as their share of busy
	IOWaitCores *float64 // idle with I/O outstanding
	StealCores  *float64 // what a hypervisor took, as it says
	Coverage    *float64 // sum of all columns / wall; 1.0 is right

	// UncertaintyCores bounds the error of BusyCores that rounding to USER_HZ
	// and the length of the two reads cause: one tick for the idle column and
	// one for iowait where that moved, over the wall clock.
	UncertaintyCores float64
	// SplitTicks is on how many column ticks the proportions rest. Few ticks
	// make a coarse split.
	SplitTicks uint64
}

// OneCPUUsage is the window on one CPU.
type OneCPUUsage struct {
	CPU int
	CPUFigures
	Flags []string // why to doubt the figures; empty is good

	// Disbelieved: /proc/stat had the CPU at both ends, and what it showed cannot be true.
	Disbelieved bool
}

// CPUUsage is the window on a set of CPUs: sums over them, except Coverage,
// which is their mean.
type CPUUsage struct {
	WallS float64
	CPUFigures
	PerCPU []OneCPUUsage // ascending by CPU
	Flags  []string      // of the sums and of every CPU in them

	SampledIdle bool // of either snapshot
	Exact       bool // in ns, by who had the CPUs; ticks tell of the split alone
}

// source is where busy time is from.
func (u *CPUUsage) source() string {
	if u.Exact {
		return foreignByTasks
	}
	return statSource
}

// Quality joins the flags for measure.Metric; "" is good.
func (u CPUUsage) Quality() string { return strings.Join(u.Flags, "; ") }

// Quality joins the flags for measure.Metric; "" is good.
func (u OneCPUUsage) Quality() string { return strings.Join(u.Flags, "; ") }

// Limits past which a figure carries a flag, in cores or as a share.
const (
	uncertaintyLimit = 0.02 // a window under half a second
	uncertaintyMost  = 0.5  // of which half says nothing
	coverageLimit    = 0.05 // distance from 1.0
	stealLimit       = 0.01
	unsplitLimit     = 0.10 // share of the sum's busy whose split is unknown
)

// Usage compares two snapshots on the given CPUs, nil for all that either
// snapshot has. A CPU that was not online at both ends has no figures and a
// flag, and the sums leave it out.
func Usage(before, after CPUSnapshot, cpus []int) CPUUsage {
	u := CPUUsage{WallS: float64(after.AtNs-before.AtNs) / 1e9}
	if u.WallS <= 0 {
		u.WallS = 0
		u.Flags = append(u.Flags, "the window has no length")
		return u
	}
	if missing := cmp.Or(before.Missing, after.Missing); missing != "" {
		u.Flags = append(u.Flags, "CPU time is not measured: "+missing)
		return u
	}
	if cpus == nil {
		cpus = union(before.CPUs, after.CPUs)
	}
	slack := float64(before.ReadNs+after.ReadNs) / 2e9
	for _, c := range slices.Compact(slices.Sorted(slices.Values(cpus))) {
		u.PerCPU = append(u.PerCPU, oneUsage(c, find(before.CPUs, c), find(after.CPUs, c), u.WallS, slack))
	}
	u.SampledIdle = before.SampledIdle || after.SampledIdle
	u.addUp()
	return u
}

func union(a, b []CPUTicks) []int {
	var out []int
	for _, t := range append(slices.Clone(a), b...) {
		out = append(out, t.CPU)
	}
	return out
}

func find(ts []CPUTicks, cpu int) *CPUTicks {
	for i := range ts {
		if ts[i].CPU == cpu {
			return &ts[i]
		}
	}
	return nil
}

func oneUsage(cpu int, b, a *CPUTicks, wall, slack float64) OneCPUUsage {
	u := OneCPUUsage{CPU: cpu}
	switch {
	case b == nil && a == nil:
		u.Flags = []string{fmt.Sprintf("CPU %d is not online", cpu)}
	case b == nil:
		u.Flags = []string{fmt.Sprintf("CPU %d came online in the window", cpu)}
	case a == nil:
		u.Flags = []string{fmt.Sprintf("CPU %d went offline in the window", cpu)}
	case a.restarted(b):
		u.Flags = []string{fmt.Sprintf("CPU %d: idle fell by %d ticks: it was offline in the window", cpu,
			b.Idle-a.Idle)}
	// The columns of a CPU that is online count all of its time. Those of a sandbox that
	// imitates the file are all 0 (gVisor: pkg/sentry/fsimpl/proc, statData.Generate), and what
	// is not idle would be busy.
	case a.sum() == b.sum() && wall > stillS:
		u.disbelieve("no column moved in %.2f s: they do not count this CPU's time", wall)
	case cores(a.Idle, b.Idle, wall) > 1+coverageLimit+slack/wall+1.0/userHZ/wall:
		u.disbelieve("idle time is %.3f cores longer than the wall clock: it is not this CPU's alone",
			cores(a.Idle, b.Idle, wall)-1)
	default:
		u.fill(*b, *a, wall, slack)
	}
	return u
}

// stillS is a window in which a column must move, seconds: a hypervisor may take a CPU away
// for some ticks without one.
const stillS = 0.5

// restarted reports whether a CPU's idle counter started again. It may step back by a rounding.
func (t *CPUTicks) restarted(before *CPUTicks) bool { return t.Idle+2 < before.Idle }

// busySince computes how busy a CPU was: what is left of the wall clock, in seconds, without idle
// and iowait. Rounding to ticks that makes one interval too low makes the next too high.
func (t *CPUTicks) busySince(before *CPUTicks, wall float64) float64 {
	return 1 - cores(t.Idle, before.Idle, wall) - cores(t.IOWait, before.IOWait, wall)
}

// cores converts the ticks that a column grew by to CPUs in use.
func cores(after, before uint64, wall float64) float64 {
	d, _ := since(before, after)
	return float64(d) / userHZ / wall
}

// fill computes the figures of a CPU that was online at both ends.
func (u *OneCPUUsage) fill(b, a CPUTicks, wall, slack float64) {
	if a.IOWait < b.IOWait {
		u.flag("iowait fell by %d ticks and is counted as 0", b.IOWait-a.IOWait)
	}
	u.UncertaintyCores = 1.0/userHZ/wall + slack/wall
	if a.IOWait != b.IOWait {
		u.UncertaintyCores += 1.0 / userHZ / wall
	}
	raw := a.busySince(&b, wall)
	if raw < -u.UncertaintyCores {
		u.flag("idle time is %.3f cores longer than the wall clock", -raw)
	}
	u.BusyCores = ptr(min(max(raw, 0), 1))
	u.IOWaitCores, u.StealCores = ptr(cores(a.IOWait, b.IOWait, wall)), ptr(cores(a.Steal, b.Steal, wall))
	u.split(b, a)
	// Iowait as it was read: a fall shows in coverage too.
	u.Coverage = ptr((float64(a.sum()) - float64(b.sum())) / userHZ / wall)
	u.judge()
}

// split divides busy by the ratio of the sampled columns.
func (u *OneCPUUsage) split(b, a CPUTicks) {
	user, f1 := since(b.User+b.Nice, a.User+a.Nice)
	sys, f2 := since(b.System, a.System)
	soft, f3 := since(b.IRQ+b.SoftIRQ, a.IRQ+a.SoftIRQ)
	if f1 || f2 || f3 {
		u.flag("a cpu column fell and is counted as 0")
	}
	u.SplitTicks = user + sys + soft
	busy := *u.BusyCores
	switch {
	case u.SplitTicks > 0:
		share := busy / float64(u.SplitTicks)
		u.AppCores, u.SysCores, u.SoftCores = ptr(share*float64(user)), ptr(share*float64(sys)),
			ptr(share*float64(soft))
	case busy == 0:
		u.AppCores, u.SysCores, u.SoftCores = ptr(0.0), ptr(0.0), ptr(0.0)
	case busy > u.UncertaintyCores+1e-6: // less is rounding, not a load
		u.flag("app/sys/soft unknown: no tick hit the busy time")
	}
}

func (u *OneCPUUsage) judge() {
	switch {
	case u.UncertaintyCores > uncertaintyMost:
		u.flag("its busy time is not known: the window is hardly longer than the ticks of 1/%d s in which the kernel "+
			"counts it", userHZ)
	case u.UncertaintyCores > uncertaintyLimit:
		u.flag("its busy time is known to %.1f %% of the window, no better: the kernel counts it in ticks of 1/%d s",
			100*u.UncertaintyCores, userHZ)
	}
	if d := *u.Coverage - 1; d > coverageLimit+u.UncertaintyCores || d < -coverageLimit-u.UncertaintyCores {
		u.flag("the columns cover %.2f of the wall clock: the split is an estimate", *u.Coverage)
	}
	if *u.StealCores > stealLimit {
		u.flag("%.3f cores were stolen by the hypervisor; they count as busy while the CPU was not idle", *u.StealCores)
	}
}

func (u *OneCPUUsage) flag(format string, args ...any) {
	u.Flags = append(u.Flags, fmt.Sprintf("CPU %d: ", u.CPU)+fmt.Sprintf(format, args...))
}

// disbelieve takes back the figures of a CPU.
func (u *OneCPUUsage) disbelieve(format string, args ...any) {
	u.CPUFigures, u.Disbelieved = CPUFigures{}, true
	u.flag(format, args...)
}

// disbelieve takes back the figures of CPUs that were busy for less than the benchmark's
// threads ran on them, by more than slackS, in which both were read: the columns are of other
// CPUs than these, or of a part of their time. A kernel that samples idle time is right on the
// whole only.
func (u *CPUUsage) disbelieve(threads []ThreadDelta, slackS float64) {
	if u.WallS <= 0 || u.SampledIdle {
		return
	}
	ran := map[int]float64{}
	for _, t := range threads {
		if !t.New { // it may have been bound later
			ran[t.CPU] += float64(t.RunNs) / 1e9 / u.WallS
		}
	}
	for i := range u.PerCPU {
		c := &u.PerCPU[i]
		if c.BusyCores == nil || ran[c.CPU] <= *c.BusyCores+c.UncertaintyCores+coverageLimit+slackS/u.WallS {
			continue
		}
		c.disbelieve(
			"/proc/stat shows it busy for %.2f cores, and own threads ran there for %.2f: these are not its columns",
			*c.BusyCores, ran[c.CPU])
	}
	if slices.ContainsFunc(u.PerCPU, func(c OneCPUUsage) bool { return c.Disbelieved }) {
		*u = CPUUsage{WallS: u.WallS, PerCPU: u.PerCPU, SampledIdle: u.SampledIdle}
		u.addUp()
	}
}

// addUp fills the sums from PerCPU. Where a CPU's figures are not believed there are no sums:
// without it they would be of less than was asked for.
func (u *CPUUsage) addUp() {
	var busy, split, app, sys, soft, iowait, steal, coverage float64
	if u.SampledIdle {
		u.Flags = append(u.Flags,
			"idle time is sampled by ticks (nohz or highres is off): busy is no more exact than the columns")
	}
	n, doubt := 0, false
	for _, c := range u.PerCPU {
		u.Flags = append(u.Flags, c.Flags...)
		doubt = doubt || c.Disbelieved
		if c.BusyCores == nil {
			continue
		}
		n++
		busy += *c.BusyCores
		iowait += *c.IOWaitCores
		steal += *c.StealCores
		coverage += *c.Coverage
		u.UncertaintyCores += c.UncertaintyCores
		u.SplitTicks += c.SplitTicks
		if c.AppCores != nil {
			split += *c.BusyCores
			app, sys, soft = app+*c.AppCores, sys+*c.SysCores, soft+*c.SoftCores
		}
	}
	if n == 0 {
		if !doubt {
			u.Flags = append(u.Flags, "no CPU was online at both ends")
		}
		return
	}
	if doubt {
		u.CPUFigures = CPUFigures{}
		return
	}
	u.BusyCores, u.IOWaitCores, u.StealCores, u.Coverage = ptr(busy), ptr(iowait), ptr(steal), ptr(coverage/float64(n))
	u.addUpSplit(busy, split, app, sys, soft)
}

// addUpSplit spreads the busy time of CPUs without a split over the known
// proportions while it is a small part, and gives none when it is not.
func (u *CPUUsage) addUpSplit(busy, split, app, sys, soft float64) {
	if unknown := busy - split; unknown > unsplitLimit*busy && unknown > 0 {
		if unknown > u.UncertaintyCores+1e-6 {
			u.Flags = append(u.Flags, fmt.Sprintf("app/sys/soft unknown for %.3f of %.3f busy cores", unknown, busy))
		}
		return
	}
	scale := 1.0
	if split > 0 {
		scale = busy / split
	}
	u.AppCores, u.SysCores, u.SoftCores = ptr(app*scale), ptr(sys*scale), ptr(soft*scale)
}

// since computes the growth of a counter that should never fall; a fall is 0 and reported.
func since(before, after uint64) (d uint64, fell bool) {
	if after < before {
		return 0, true
	}
	return after - before, false
}

func ptr[T any](v T) *T { return &v }

// CPUMetrics describe how busy the CPUs were.
var CPUMetrics = []measure.MetricDoc{
	{Names: "cpu_app_cores cpu_sys_cores cpu_soft_cores cpu_busy_cores cpu_iowait_cores " +
		"cpu_steal_cores",
		Units: "cores", Source: "/proc/stat; eBPF sched_switch",
		Meaning: "/proc/stat over the measured CPUs, 1.00 = one CPU all the time; " +
			"docs/columns.md says how they are split; in turns by eBPF, and stolen time is then " +
			"off the busy time (docs/matrix.md)"},
	{Names: "cpu_stat_coverage cpu_uncertainty_cores cpu_window_s",
		Units: "1 cores s", Source: "/proc/stat; eBPF sched_switch; CLOCK_MONOTONIC",
		Meaning: "share of the wall clock that /proc/stat's columns cover; what ticks of " +
			"1/100 s leave unknown; the window that they were read over"},
	{Names: "cpuN_app_cores cpuN_sys_cores cpuN_soft_cores cpuN_busy_cores cpuN_iowait_cores " +
		"cpuN_steal_cores cpuN_stat_coverage cpuN_uncertainty_cores",
		Units: "cores cores cores cores cores cores 1 cores", Source: "/proc/stat; eBPF sched_switch",
		Meaning: "the same by CPU"},
}
