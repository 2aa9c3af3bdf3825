// SPDX-License-Identifier: MIT

package counter

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
)

// second is a CPU of which parts of a second, in ns, were somebody's; the rest was idle.
func second(cpu int, own, serving, other, netOwn, netOther, untold int64) CPUTasks {
	t := CPUTasks{CPU: cpu}
	t.Ns[TasksOwn][TaskItself], t.Ns[TasksServing][TaskItself], t.Ns[TasksOther][TaskItself] = own, serving, other
	t.Ns[tasksIdle][TaskNetOwn], t.Ns[TasksOwn][TaskNetOther], t.Ns[tasksIdle][TaskNetUntold] = netOwn, netOther, untold
	t.Ns[tasksIdle][TaskItself] = 1e9 - own - serving - other - netOwn - netOther - untold
	return t
}

// busyOf is what /proc/stat would say of it.
func busyOf(t CPUTasks) OneCPUUsage {
	busy := float64(1e9-t.Ns[tasksIdle][TaskItself]) / 1e9
	return OneCPUUsage{CPU: t.CPU, CPUFigures: CPUFigures{BusyCores: &busy, AppCores: ptr(busy / 2),
		SysCores:  ptr(busy / 2),
		SoftCores: ptr(0.), StealCores: ptr(0.), IOWaitCores: ptr(0.), Coverage: ptr(1.), UncertaintyCores: .01}}
}

// changeOf is a window of a second on some CPUs, in which own threads that are not pinned ran.
func changeOf(cpus ...CPUTasks) (Change, []measure.Metric) {
	c := Change{CPU: CPUUsage{WallS: 1}}
	roaming := ThreadDelta{CPU: -1}
	before, after := &TaskTimes{}, &TaskTimes{EventNs: 50, CPUs: cpus}
	for _, t := range cpus {
		c.CPU.PerCPU = append(c.CPU.PerCPU, busyOf(t))
		roaming.RunNs += t.Ns[TasksOwn][TaskItself]
		before.CPUs = append(before.CPUs, CPUTasks{CPU: t.CPU})
	}
	c.CPU.addUp()
	c.Foreign = foreign(c.CPU, []ThreadDelta{roaming}, 0)
	var r rows
	c.addTasks(&r, before, after)
	c.Foreign = exactly(c.Foreign, c.tasks, c.otherNs, 0)
	return c, r.out
}

func closeTo(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-4 {
		t.Errorf("%s: %.5f, want %.5f", what, got, want)
	}
}

// The two wrong verdicts of before: 79 % of the CPU of a flow that is not pinned was another's, and
// nobody saw it; and 7 % of a CPU that has nothing to do with the flow spoilt the run. By tasks the
// one is read, with the name, and the other is background, which the flow is not charged for.
func TestForeignByTasks(t *testing.T) {
	taken := second(3, 200e6, 0, 790e6, 0, 0, 0)
	taken.Top = []TaskRow{{Key: 812, Name: "postgres", Ns: 780e6}, {Key: 5, Name: "tiny", Ns: 1e6}}
	far := second(77, 0, 0, 70e6, 0, 0, 0)
	c, rows := changeOf(taken, second(4, 800e6, 0, 0, 100e6, 0, 0), far)
	if low := *foreign(c.CPU, []ThreadDelta{{CPU: -1, RunNs: 1e9}}, 0)[0].LowCores; low != 0 {
		t.Errorf("by ticks %g: this is no example of what they do not show", low)
	}
	f := c.Foreign[0]
	closeTo(t, "another's", *f.LowCores, .79)
	if f.Quality != "foreign load 0.79 cores on CPU 3: postgres (pid 812) used 0.78" || f.Source != measure.ByTasks {
		t.Errorf("%q of %s", f.Quality, f.Source)
	}
	closeTo(t, "own work is nobody else's", *c.Foreign[1].LowCores, 0)
	closeTo(t, "softirq that polls the flow's interface is its", *c.Foreign[1].HighCores, 0)
	closeTo(t, "far away", *c.Foreign[2].LowCores, .07)
	if got := c.FlowCPUs(false); !slices.Equal(got, []int{3, 4}) {
		t.Errorf("the flow's CPUs are %v", got)
	}
	closeTo(t, "machine-wide", *c.Figures().CPUBusyCores, .99+.9+.07)
	said := c.Background(c.FlowCPUs(false))
	closeTo(t, "background", metric(t, said, measure.MetricBackground).Value, .07)
	h := c.Figures()
	closeTo(t, "charged", *h.CPUBusyCores, .99+.9)
	closeTo(t, "split", *h.CPUAppCores+*h.CPUSysCores+*h.CPUSoftCores, .99+.9)
	flow := map[string]float64{}
	for _, m := range said {
		if m.Name == measure.MetricFlowCores {
			flow[m.Named()] = m.Value
		}
	}
	closeTo(t, "the flow on 3", flow["flow_cpu3_cores"], .2)
	closeTo(t, "the flow on 4", flow["flow_cpu4_cores"], .9)
	if len(flow) != 2 {
		t.Errorf("%v", flow)
	}
	closeTo(t, "own", metric(t, rows, "tasks_own_cores").Value, 1)
	closeTo(t, "other", metric(t, rows, "tasks_other_cores").Value, .86)
	closeTo(t, "idle", metric(t, rows, "tasks_idle_cores").Value, .01+.1+.93)
}

// What serves the flow is its, softirq of other interfaces is others', and of a backlog's nobody
// can tell.
func TestForeignSoftirq(t *testing.T) {
	c, _ := changeOf(second(0, 300e6, 100e6, 0, 50e6, 200e6, 30e6))
	closeTo(t, "low", *c.Foreign[0].LowCores, .2)
	closeTo(t, "high", *c.Foreign[0].HighCores, .23)
	x := second(1, 0, 0, 0, 0, 200e6, 0)
	x.Devs = []TaskRow{{Key: 7, Name: "eth7", Ns: 200e6}}
	x.Turns[TasksOther], x.Ns[TasksOther][TaskItself], x.Hard[TasksOther] = 1e5, 10e6, 2e6
	low, _ := x.othersNs(50)
	closeTo(t, "others, without interrupts and what the probe took at their switches", low/1e9, .2+.008-.005)
	if got := x.whose(); got != "softirq of eth7 used 0.20" {
		t.Errorf("%q", got)
	}
	x.Turns, x.Softs, x.Hards = [TaskClasses]uint64{1e6}, [TaskClasses]uint64{0, 1e5}, [TaskClasses]uint64{0, 0, 1e4}
	x.Turns[TasksOther], x.Polls[tasksIdle] = 1e5, 2e5
	closeTo(t, "the probe", x.ProbeNs(50, 90)/1e9, .05+2*.005+.01+2*.0005+.009)
	c, _ = changeOf(second(0, 300e6, 0, 10e6, 0, 0, 0))
	c.tasks[0].Ns[TasksUntold][TaskItself] = 200e6
	low, high := c.tasks[0].othersNs(0)
	closeTo(t, "kernel threads of which nobody can tell are not surely others'", low/1e9, .01)
	closeTo(t, "but perhaps", high/1e9, .21)
}

// A few microseconds of a process' other threads make no CPU the flow's.
func TestFlowCPUs(t *testing.T) {
	c, _ := changeOf(second(0, 900e6, 0, 0, 0, 0, 0), second(1, 0, 0, 0, 0, 0, 300e6),
		second(2, 20e6, 0, 500e6, 0, 0, 0),
		second(3, 0, 0, 0, 0, 0, 0))
	if got := c.FlowCPUs(false); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("%v", got)
	}
	c.polled = true
	if got := c.FlowCPUs(false); !slices.Equal(got, []int{0}) {
		t.Errorf("with a database over loopback elsewhere: %v", got)
	}
	c.polled = false
	little, _ := changeOf(second(0, 30e6, 0, 0, 0, 0, 0), second(1, 10e6, 0, 0, 0, 0, 0))
	if got := little.FlowCPUs(false); !slices.Equal(got, []int{0}) {
		t.Errorf("of a flow that does little: %v", got)
	}
	rare, _ := changeOf(second(0, 1e6, 0, 0, 0, 0, 0), second(1, 2e6, 0, 0, 0, 0, 0))
	if got := rare.FlowCPUs(false); !slices.Equal(got, []int{1}) {
		t.Errorf("of one that does next to nothing: %v", got)
	}
	looks, _ := changeOf(second(0, 500e6, 0, 0, 0, 0, 0), second(1, 60e6, 0, 0, 0, 0, 0),
		second(2, 0, 0, 0, 50e6, 0, 0))
	if got, pinned := looks.FlowCPUs(false), looks.FlowCPUs(true); !slices.Equal(got, []int{0, 1, 2}) ||
		!slices.Equal(pinned, []int{0, 2}) {
		t.Errorf("%v; with pinned threads %v", got, pinned)
	}
	if got := (&Change{}).FlowCPUs(false); got != nil {
		t.Errorf("of nothing: %v", got)
	}
	if c.Background(nil) != nil || c.share != nil {
		t.Error("background of a flow that may be anywhere")
	}
	if got := c.ForeignOn(0); got != nil {
		t.Errorf("of a measured CPU: %v", got)
	}
	c.CPU.PerCPU = c.CPU.PerCPU[:2]
	if got := c.ForeignOn(2); len(got) != 2 || got[0].Named() != "foreign_cpu2_low_cores" || got[0].Value < .49 {
		t.Errorf("of a sibling: %v", got)
	}
}

// Of a task that lost its row, only what it used since it has it again is known to be its.
func TestTaskRowsSince(t *testing.T) {
	before := []TaskRow{{Key: 1, Ns: 100}, {Key: 2, Ns: 50, BeforeNs: 10}, {Key: 3, Ns: 7}}
	after := []TaskRow{{Key: 1, Ns: 160}, {Key: 2, Ns: 200, BeforeNs: 150}, {Key: 3, Ns: 7},
		{Key: 4, Ns: 90, BeforeNs: 60}}
	var got []int64
	for _, r := range rowsSince(before, after) {
		got = append(got, int64(r.Key), r.Ns)
	}
	if want := []int64{1, 60, 2, 50, 4, 30}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Runs that the kernel left out make the times no truth.
func TestTasksMissed(t *testing.T) {
	c := Change{CPU: CPUUsage{WallS: 1}}
	c.addTasks(&rows{}, &TaskTimes{Missed: 1}, &TaskTimes{Missed: 3, CPUs: []CPUTasks{second(0, 1e8, 0, 0, 0, 0, 0)}})
	if c.tasks != nil || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "skipped 2 runs") {
		t.Errorf("%v, %q", c.tasks, c.Warnings)
	}
}

const schedstat = `version %v
timestamp 4295123456
cpu0 0 0 11 12 13 14 5000000000 16 17
domain0 MC 00000003 0 0 0
cpu12 1 0 21 22 23 24 7000000000 26 27
domain0 MC 00000003 0 0 0
`

// Where eBPF cannot be used, what the kernel sums up of tasks is asked; where there is none, ticks
// are.
func TestSchedstat(t *testing.T) {
	file := func(version string) []byte { return []byte(strings.Replace(schedstat, "%v", version, 1)) }
	for _, version := range []string{"15", "16", "17"} {
		if s, err := parseSchedstat(file(version)); err != nil || len(s) != 2 || s[0] != 5e9 || s[12] != 7e9 {
			t.Errorf("version %s: %v, %v", version, s, err)
		}
	}
	for _, version := range []string{"14", "18"} {
		if s, err := parseSchedstat(file(version)); err != nil || s != nil {
			t.Errorf("version %s: %v, %v", version, s, err)
		}
	}
	for _, bad := range []string{"", "nonsense", "version 15\ncpu0 1 2 3\n", "version 15\ncpux 1\n"} {
		if s, err := parseSchedstat([]byte(bad)); err == nil {
			t.Errorf("%q: %v", bad, s)
		}
	}
	dir := t.TempDir()
	fs, err := NewFS(dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := readSchedstat(fs); s != nil || err != nil {
		t.Errorf("a kernel without it: %v, %v", s, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "schedstat"), file("15"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := readSchedstat(fs); err != nil || s[0] != 5e9 {
		t.Errorf("%v, %v", s, err)
	}
}

// Softirq and interrupts may be on top of the flow's thread; what was before the window, and ended
// in it, is no more than what was busy.
func TestForeignByRun(t *testing.T) {
	one := func(busy, soft float64) CPUUsage {
		return CPUUsage{WallS: 2, PerCPU: []OneCPUUsage{{CPU: 1, CPUFigures: CPUFigures{BusyCores: &busy,
			SoftCores: &soft, StealCores: ptr(0.), UncertaintyCores: .005}}}}
	}
	for _, x := range []struct {
		name            string
		busy, soft, own float64
		ranS            float64
		low             float64
		quality         string
	}{
		{"an intruder beside softirq", .9, .1, .3, 1.2, .2, "foreign load 0.20 cores on CPU 1"},
		{"softirq alone", .9, .6, .3, .6, 0, "possible foreign load 0.00 to 0.60 cores on CPU 1"},
		{"softirq on top of a thread whose clock leaves it out", 1, .3, .7, 2, 0,
			"possible foreign load 0.00 to 0.30 cores on CPU 1"},
		{"a turn from before", .3, 0, .3, 3, 0, ""},
	} {
		threads := []ThreadDelta{{CPU: 1, RunNs: int64(x.own * 2e9)}}
		fs := foreign(one(x.busy, x.soft), threads, 0)
		ran := Schedstat{1: int64(x.ranS * 1e9)}.since(Schedstat{1: 0}, 2)
		byRun(fs, ran, one(x.busy, x.soft), threads, 0)
		closeTo(t, x.name, *fs[0].LowCores, x.low)
		if fs[0].Quality != x.quality || fs[0].Source != measure.BySchedstat {
			t.Errorf("%s: %q by %s", x.name, fs[0].Quality, fs[0].Source)
		}
	}
	fs := foreign(one(.5, 0), nil, 0)
	byRun(fs, Schedstat{7: 9}.since(Schedstat{7: 1}, 2), one(.5, 0), nil, 0)
	if fs[0].Source != foreignByStat {
		t.Errorf("of another CPU: %s", fs[0].Source)
	}
}

// A CPU that changed too fast to be read is told of by /proc, and the others by tasks: what it did
// is not taken for background.
func TestTasksUnread(t *testing.T) {
	read, lost := second(0, 500e6, 0, 100e6, 0, 0, 0), second(1, 0, 0, 300e6, 0, 0, 0)
	c := Change{CPU: CPUUsage{WallS: 1, PerCPU: []OneCPUUsage{busyOf(read), busyOf(lost)}}}
	c.CPU.addUp()
	c.Foreign = foreign(c.CPU, nil, 0)
	c.addTasks(&rows{}, &TaskTimes{CPUs: []CPUTasks{{CPU: 0}, {CPU: 1}}},
		&TaskTimes{CPUs: []CPUTasks{read}, Unread: []int{1}})
	c.Foreign = exactly(c.Foreign, c.tasks, c.otherNs, 0)
	if c.Foreign[0].Source != foreignByTasks || c.Foreign[1].Source == foreignByTasks ||
		len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "who had CPU 1 is not known") {
		t.Errorf("%+v, %q", c.Foreign, c.Warnings)
	}
	c.Background([]int{0})
	if c.share[1] != 0 {
		t.Errorf("of the CPU that was not read %g cores are subtracted", c.share[1])
	}
}
