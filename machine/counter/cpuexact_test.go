// SPDX-License-Identifier: MIT

package counter

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// turnOf is what tasks had of a CPU in a turn of 20 ms: 12 ms of its own, 2 ms of softirq while it
// rested, half a millisecond of interrupts there, and 1 ms to wake up.
func turnOf(cpu int) CPUTasks {
	t := CPUTasks{CPU: cpu, Top: []TaskRow{{Key: 7, Name: "x", Ns: 1e3}}}
	t.Ns[TasksOwn][TaskItself], t.Ns[tasksIdle][TaskNetOwn], t.Ns[tasksWaking][TaskItself] = 12e6, 2e6, 1e6
	t.Ns[tasksIdle][TaskItself], t.Hard[tasksIdle] = 5e6, 5e5
	t.Stolen[TasksOwn], t.Stolen[tasksIdle] = 2e6, 1e6
	t.Turns[TasksOwn], t.Rests = 1000, 1000
	return t
}

// turnsOf adds up turns between which the CPU did something else.
func turnsOf(n int, tasks func(CPUTasks) *TaskTimes) (from, to Snapshot) {
	var sum TurnSum
	var all CPUTasks
	all.CPU = 3
	for i := range int64(n) {
		one := turnOf(3)
		all.add(&CPUTasks{Turns: one.Turns, Stolen: one.Stolen})
		before := all
		before.Top = slices.Clone(all.Top)
		all.add(&one)
		// Ticks of 10 ms say that it was idle for one in each turn.
		sum.Add(&TurnReader{}, turnReading{AtNs: 100e6 * i, cpu: CPUSnapshot{AtNs: 100e6 * i, CPUs: []CPUTicks{{CPU: 3,
			Idle: uint64(i), System: uint64(3 * i), User: uint64(i), Steal: uint64(i)}}}, tasks: tasks(before)},
			turnReading{AtNs: 100e6*i + 20e6, cpu: CPUSnapshot{AtNs: 100e6*i + 20e6, CPUs: []CPUTicks{{CPU: 3,
				Idle: uint64(i + 1), System: uint64(3*i + 3), User: uint64(i + 1), Steal: uint64(i + 1)}}},
				tasks: tasks(all)})
	}
	from = Snapshot{Config: Config{CPUs: []int{3}, OfFlow: true}, Threads: []ThreadTimes{}}
	to = from
	sum.Between(&from, &to)
	return from, to
}

// Of turns, busy time is what tasks had: without rest, stolen time and the programs' own; ticks
// tell how it is split.
func TestTurnsExact(t *testing.T) {
	rows, c := Delta(turnsOf(50, func(d CPUTasks) *TaskTimes {
		return &TaskTimes{CPUs: []CPUTasks{d}, EventNs: 40, OtherNs: 40, Programs: 2, Steal: true}
	}))
	// Of 20 ms: 4.5 of rest, 2 stolen, and 1500 events of 40 ns, by 2.5, twice: half of those at
	// rest's edges are in it.
	for _, x := range []struct {
		what      string
		got       *float64
		wantMs    float64
		tolerance float64
	}{
		{"busy", c.CPU.BusyCores, 13.2, 1e-9}, {"soft", c.CPU.SoftCores, 2.5, 1e-9},
		{"app", c.CPU.AppCores, 10.7 / 4, 1e-9}, {"sys", c.CPU.SysCores, 10.7 * 3 / 4, 1e-9},
		{"stolen", c.CPU.StealCores, 2, 1e-9}, {"coverage", c.CPU.Coverage, 20, 1e-9},
		{"uncertainty", &c.CPU.UncertaintyCores, .15, 1e-9},
	} {
		if x.got == nil || math.Abs(*x.got-x.wantMs/20) > x.tolerance {
			t.Errorf("%s: %v, want %g", x.what, x.got, x.wantMs/20)
		}
	}
	if !c.CPU.Exact || !strings.Contains(c.CPU.Quality(), "0.100 cores were stolen") ||
		strings.Contains(c.CPU.Quality(), "ticks") {
		t.Errorf("exact %v: %s", c.CPU.Exact, c.CPU.Quality())
	}
	for _, m := range rows {
		if m.Name == "cpu3_busy_cores" && m.Source != foreignByTasks {
			t.Errorf("%+v", m)
		}
	}
	if len(c.tasks) != 1 || len(c.tasks[0].Top) != 1 || c.tasks[0].Top[0].Ns != 50e3 {
		t.Errorf("%+v", c.tasks)
	}
}

// What the program took in idle time is not taken off what was busy.
func TestProbeInIdle(t *testing.T) {
	var d CPUTasks
	d.Turns[tasksIdle], d.Hards[tasksIdle], d.Softs[tasksIdle], d.Polls[tasksIdle], d.Rests = 1000, 100, 40, 7, 60
	d.Turns[TasksOwn], d.Hards[TasksOwn], d.Turns[TasksOther] = 5, 2, 3
	// A softirq's beginning, its polls and each second edge of a rest; and all of who is busy.
	if got := d.busyProbeNs(10, 30); got != 10*(40+7+30+5+2*2)+30*3 {
		t.Errorf("%g ns", got)
	}
}

// Where a CPU could not be read at an edge, or the program missed something, ticks tell, and say
// so.
func TestTurnsNotExact(t *testing.T) {
	n := 0
	_, c := Delta(turnsOf(50, func(d CPUTasks) *TaskTimes {
		if n++; n == 7 {
			return &TaskTimes{Unread: []int{3}}
		}
		return &TaskTimes{CPUs: []CPUTasks{d}}
	}))
	if c.CPU.Exact || c.CPU.BusyCores == nil || *c.CPU.BusyCores != .5 ||
		!strings.Contains(strings.Join(c.Warnings, "; "), "who had CPU 3 is not known by tasks") {
		t.Errorf("%+v, %q", c.CPU, c.Warnings)
	}
	from, to := turnsOf(50, func(d CPUTasks) *TaskTimes { return &TaskTimes{CPUs: []CPUTasks{d}} })
	to.Tasks.Missed = 2
	if _, c = Delta(from, to); c.CPU.Exact || !strings.Contains(strings.Join(c.Warnings, "; "), "skipped 2 runs") {
		t.Errorf("%+v, %q", c.CPU, c.Warnings)
	}
	// What the hypervisor took is in doubt where only ticks tell of it.
	_, c = Delta(turnsOf(50, func(d CPUTasks) *TaskTimes {
		d.Stolen = [TaskClasses]int64{}
		return &TaskTimes{CPUs: []CPUTasks{d}}
	}))
	if !c.CPU.Exact || math.Abs(*c.CPU.BusyCores-15.5/20) > 1e-9 || c.CPU.UncertaintyCores < .49 {
		t.Errorf("%+v: %v", c.CPU, *c.CPU.BusyCores)
	}
}
