// SPDX-License-Identifier: MIT

package counter

// Who runs on a CPU, as eBPF sees it.
const (
	TasksIdle    = iota
	TasksOwn     // threads of this process, io_uring's workers among them
	TasksServing // kernel threads that work for the flow: ksoftirqd, NAPI threads, workers at work that it queued
	TasksPeer    // other processes of the benchmark on this machine, such as the flow's other end
	TasksOther
	TaskClasses
)

// What is on top of who runs: softirq makes no switch.
const (
	TaskItself    = iota
	TaskNetOwn    // softirq that polls the flow's interface
	TaskNetOther  // another one, which brings nothing of the flow
	TaskNetUntold // NET_RX and NET_TX of which it is not known: of a backlog, such as loopback's
	TaskSoft      // other softirq: timers, RCU, tasklets
	TaskContexts
)

// TaskTimes is who had each CPU since some beginning. The times of a CPU add up to all of its time.
type TaskTimes struct {
	CPUs    []CPUTasks // online ones, ascending
	EventNs float64    // what the program itself takes at a switch, measured
	Missed  uint64     // events that it did not see
}

// CPUTasks is who had one CPU, in ns.
type CPUTasks struct {
	CPU int
	Ns  [TaskClasses][TaskContexts]int64
	// Hard is what interrupts took of Ns where there was no softirq: for idle, work that no
	// task did.
	Hard [TaskClasses]int64
	// Turns counts switches to each class, Softs softirqs and polls on top of it, Hards
	// interrupts.
	Turns, Softs, Hards [TaskClasses]uint64
	Top                 []TaskRow // other tasks, those that used most among them
	Devs                []TaskRow // interfaces of others
}

// TaskRow is the time of a process, or of an interface. It is counted from when it got the row,
// where it had BeforeNs: what was another's.
type TaskRow struct {
	Key          uint64 // process id; namespace and index of an interface
	Name         string // as the kernel has it: not to be trusted
	Ns, BeforeNs int64
}

// TaskReader reads who has the CPUs; package bpf has one.
type TaskReader interface {
	Read() (*TaskTimes, error)
}

// Between returns what passed between two readings of a CPU.
func (a CPUTasks) since(b CPUTasks) CPUTasks {
	d := CPUTasks{CPU: a.CPU, Top: rowsSince(b.Top, a.Top), Devs: rowsSince(b.Devs, a.Devs)}
	for c := range TaskClasses {
		for x := range TaskContexts {
			d.Ns[c][x] = a.Ns[c][x] - b.Ns[c][x]
		}
		d.Hard[c], d.Turns[c] = a.Hard[c]-b.Hard[c], a.Turns[c]-b.Turns[c]
		d.Softs[c], d.Hards[c] = a.Softs[c]-b.Softs[c], a.Hards[c]-b.Hards[c]
	}
	return d
}

// rowsSince leaves out what did not run. Of one that lost its row in between and got another, only
// the latter counts.
func rowsSince(before, after []TaskRow) (out []TaskRow) {
	for _, a := range after {
		from := a.BeforeNs
		for _, b := range before {
			if b.Key == a.Key && b.BeforeNs == a.BeforeNs {
				from = b.Ns
			}
		}
		if a.Ns > from {
			out = append(out, TaskRow{Key: a.Key, Name: a.Name, Ns: a.Ns - from})
		}
	}
	return out
}

// Since returns what passed on each CPU since an earlier reading.
func (t *TaskTimes) Since(earlier *TaskTimes) []CPUTasks {
	var out []CPUTasks
	for _, a := range t.CPUs {
		for _, b := range earlier.CPUs {
			if b.CPU == a.CPU {
				out = append(out, a.since(b))
			}
		}
	}
	return out
}

// WallNs is all time of the CPU.
func (t *CPUTasks) WallNs() (ns int64) {
	for c := range TaskClasses {
		ns += t.all(c)
	}
	return ns
}

func (t *CPUTasks) all(class int) (ns int64) {
	for _, n := range t.Ns[class] {
		ns += n
	}
	return ns
}

// IdleNs is the time in which the CPU did nothing: of the idle task, without softirq and interrupts
// in it.
func (t *CPUTasks) IdleNs() int64 { return t.Ns[TasksIdle][TaskItself] - t.Hard[TasksIdle] }

// ProbeNs is what the program's own runs took of it, at eventNs each: at the beginning and the end
// of a softirq one each.
func (t *CPUTasks) ProbeNs(eventNs float64) (ns float64) {
	for c := range TaskClasses {
		ns += t.probeNs(c, eventNs)
	}
	return ns
}

// probeNs is that part of it which is in a class: who is switched to pays for the switch.
func (t *CPUTasks) probeNs(class int, eventNs float64) float64 {
	return float64(t.Turns[class]+2*t.Softs[class]+2*t.Hards[class]) * eventNs
}

// flowNs is what the flow used: its threads, what served it, and softirq that polled its interface
// or a backlog.
func (t *CPUTasks) flowNs() (ns int64) {
	ns = t.Ns[TasksOwn][TaskItself] + t.Ns[TasksServing][TaskItself]
	for c := range TaskClasses {
		ns += t.Ns[c][TaskNetOwn]
	}
	return ns
}

// othersNs is what others used: at least, by tasks and by softirq of other interfaces; and at most,
// with softirq of which it is not known.
func (t *CPUTasks) othersNs(eventNs float64) (low, high float64) {
	low = float64(t.Ns[TasksOther][TaskItself]) - float64(t.Turns[TasksOther])*eventNs
	for c := range TaskClasses {
		low += float64(t.Ns[c][TaskNetOther])
	}
	low = max(low, 0)
	high = low
	for c := range TaskClasses {
		high += float64(t.Ns[c][TaskNetUntold] + t.Ns[c][TaskSoft])
	}
	return low, high
}
