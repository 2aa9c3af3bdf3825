// SPDX-License-Identifier: MIT

package counter

import "slices"

// exact replaces what ticks tell of busy time by what tasks had, in ns, if they tell it of all
// measured CPUs. Taken off is what the hypervisor took while a task had the CPU, and what the
// program that counts took itself. Ticks tell how the rest is split in user and system.
func (c *Change) exact(t *TaskTimes) {
	u := &c.CPU
	var all []OneCPUUsage
	for _, x := range u.PerCPU {
		at := slices.IndexFunc(c.tasks, func(t CPUTasks) bool { return t.CPU == x.CPU })
		if at < 0 || c.tasks[at].WallNs() <= 0 || u.WallS <= 0 {
			return
		}
		all = append(all, x.exact(&c.tasks[at], t, u.WallS))
	}
	if len(all) == 0 {
		return
	}
	*u = CPUUsage{WallS: u.WallS, PerCPU: all, Exact: true}
	u.addUp()
}

// inUse is what a run of the program takes of a CPU, in runs by themselves: the kernel's call is in
// it, and caches that others use, too. Measured: two threads that wake each other take 190 ns more
// for a switch, and the program by itself 57 to 72.
const inUse = 2.5

// exact returns the figures of one CPU.
func (u *OneCPUUsage) exact(d *CPUTasks, t *TaskTimes, wallS float64) OneCPUUsage {
	x := OneCPUUsage{CPU: u.CPU}
	wall := float64(d.WallNs())
	probe := inUse * d.busyProbeNs(t.EventNs, max(t.OtherNs, t.EventNs)) * float64(max(t.Programs, 1))
	stolen := float64(d.stolenNs())
	busy := max(wall-float64(d.IdleNs())-stolen-probe, 0) / wall
	soft := min(float64(d.softNs())/wall, busy)
	x.BusyCores, x.SoftCores, x.Coverage = &busy, &soft, ptr(wall/1e9/wallS)
	x.IOWaitCores, x.StealCores = ptr(0.0), ptr(stolen/wall)
	if u.IOWaitCores != nil {
		x.IOWaitCores = u.IOWaitCores
	}
	if u.AppCores != nil {
		if ticks := *u.AppCores + *u.SysCores; ticks > 0 {
			app := (busy - soft) * *u.AppCores / ticks
			x.AppCores, x.SysCores = &app, ptr(busy-soft-app)
		}
	}
	if x.AppCores == nil {
		x.SoftCores = nil // all three or none
	}
	x.UncertaintyCores, x.SplitTicks = probe/2/wall, u.SplitTicks
	switch {
	case !t.Steal && u.StealCores != nil:
		x.StealCores = u.StealCores
		if *x.StealCores > stealLimit {
			x.flag("%.3f cores were stolen by the hypervisor; they count as busy while the CPU was not idle",
				*x.StealCores)
			x.UncertaintyCores += *x.StealCores
		}
	case stolen/wall > stealLimit:
		x.flag("%.3f cores were stolen by the hypervisor from tasks; they are taken off", stolen/wall)
	}
	return x
}

// busyProbeNs is the part of [CPUTasks.ProbeNs] that is not idle time. A program reads the clock
// first, so that its run is of who comes then: of the idle task, when a softirq on top of it ends,
// or its CPU begins to rest. An interrupt's programs are outside of its time.
func (t *CPUTasks) busyProbeNs(eventNs, otherNs float64) float64 {
	idle := t.Turns[tasksIdle] + t.Softs[tasksIdle] + 2*t.Hards[tasksIdle]
	return t.ProbeNs(eventNs, otherNs) - (float64(idle)+float64(t.Rests)/2)*eventNs
}

// stolenNs is what the hypervisor took while a task had the CPU. While it rested that is idle time.
func (t *CPUTasks) stolenNs() (ns int64) {
	for c := range TaskClasses {
		if c != tasksIdle && c != tasksWaking {
			ns += t.Stolen[c]
		}
	}
	return ns
}

// softNs is softirq and interrupts.
func (t *CPUTasks) softNs() (ns int64) {
	for c := range TaskClasses {
		ns += t.all(c) - t.Ns[c][TaskItself] + t.Hard[c]
	}
	return ns
}
