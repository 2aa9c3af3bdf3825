// SPDX-License-Identifier: MIT

package counter

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/zcbench/zcbench/machine/measure"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// ThreadTimes is what one thread has used since it began.
type ThreadTimes struct {
	PID, TID int
	Name     string

	// RunNs is time on a CPU: the thread's clock where it is a thread of this
	// process, else /proc/PID/task/TID/schedstat, which lags by up to one tick
	// while the thread runs.
	RunNs int64
	// WaitNs is time runnable but not running (schedstat), Timeslices how often
	// it was put on a CPU. HasWait is false where they are not known: on a kernel
	// without CONFIG_SCHED_INFO, whose schedstat is missing or all 0.
	WaitNs, Timeslices uint64
	HasWait            bool
	// UserNs and SysNs have a resolution of one USER_HZ tick. Their sum follows
	// RunNs, their ratio is tick-sampled (kernel/sched/cputime.c,
	// cputime_adjust).
	UserNs, SysNs int64

	LastCPU   int    // where it ran last
	Pinned    int    // the only CPU it may run on; -1 when there are several or it is not known
	Voluntary uint64 // context switches by waiting
	// Involuntary counts context switches by preemption.
	Involuntary uint64
}

// readThreads lists the living threads of process pid, 0 for this process,
// ascending by TID. A thread that ends while it is read is left out. It fails
// when the process does not exist.
func readThreads(fs FS, pid int) ([]ThreadTimes, error) {
	if pid == 0 {
		pid = os.Getpid()
	}
	p, err := fs.procfs()
	if err != nil {
		return nil, fmt.Errorf("read threads of process %d: %w", pid, mounted(err))
	}
	tasks, err := p.AllThreads(pid)
	if err != nil {
		return nil, fmt.Errorf("read threads of process %d: %w: is it running?", pid, err)
	}
	var out []ThreadTimes
	for _, task := range tasks {
		t, err := readThread(fs, pid, task)
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read thread %d of process %d: %w", task.PID, pid, err)
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b ThreadTimes) int { return a.TID - b.TID })
	return out, nil
}

func gone(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH)
}

func readThread(fs FS, pid int, task procfs.Proc) (ThreadTimes, error) {
	t := ThreadTimes{PID: pid, TID: task.PID, Pinned: -1}
	st, err := task.Stat()
	if err != nil {
		return t, err
	}
	t.Name, t.LastCPU = st.Comm, int(st.Processor)
	t.UserNs, t.SysNs = int64(st.UTime)*tickNs, int64(st.STime)*tickNs
	t.RunNs = t.UserNs + t.SysNs // the coarse figure, where nothing better is there
	if ss, err := task.Schedstat(); err == nil && ss.RunTimeslices > 0 {
		t.HasWait = true
		t.RunNs, t.WaitNs, t.Timeslices = int64(ss.RunningNanoseconds), ss.WaitingNanoseconds, ss.RunTimeslices
	}
	status, err := task.NewStatus()
	if err != nil {
		return t, err
	}
	t.Voluntary, t.Involuntary = status.VoluntaryCtxtSwitches, status.NonVoluntaryCtxtSwitches
	if fs.live() {
		t.ask()
	}
	return t, nil
}

// ask completes t by system calls, which know more than the files.
func (t *ThreadTimes) ask() {
	if t.PID == os.Getpid() {
		if ns, err := ThreadClock(t.TID); err == nil {
			t.RunNs = ns
		}
	}
	var set unix.CPUSet
	if unix.SchedGetaffinity(t.TID, &set) != nil || set.Count() != 1 {
		return
	}
	for c := range len(set) * 64 {
		if set.IsSet(c) {
			t.Pinned = c
			return
		}
	}
}

// ThreadDelta is what one thread used between two readings.
type ThreadDelta struct {
	PID, TID               int
	Name                   string
	RunNs, UserNs, SysNs   int64
	WaitNs, Timeslices     uint64
	HasWait                bool // WaitNs and Timeslices are known
	Voluntary, Involuntary uint64
	CPU                    int  // the only CPU it may have run on; -1 when not known
	New                    bool // began in between: its whole life is counted
}

// threadsBetween matches two readings by PID and TID. Threads that ended in
// between are not in it: what they used is only in the process' [Rusage].
func threadsBetween(before, after []ThreadTimes) []ThreadDelta {
	type id struct{ pid, tid int }
	old := make(map[id]ThreadTimes, len(before))
	for _, t := range before {
		old[id{t.PID, t.TID}] = t
	}
	var out []ThreadDelta
	for _, a := range after {
		b, known := old[id{a.PID, a.TID}]
		// A thread number taken again by another thread starts from nothing.
		if known && a.RunNs < b.RunNs && a.Voluntary < b.Voluntary {
			b, known = ThreadTimes{}, false
		}
		out = append(out, threadDelta(b, a, known))
	}
	return out
}

func threadDelta(b, a ThreadTimes, known bool) ThreadDelta {
	cpu := a.Pinned
	if known && b.Pinned != a.Pinned {
		cpu = -1
	}
	wait, _ := since(b.WaitNs, a.WaitNs)
	turns, _ := since(b.Timeslices, a.Timeslices)
	vol, _ := since(b.Voluntary, a.Voluntary)
	invol, _ := since(b.Involuntary, a.Involuntary)
	return ThreadDelta{
		PID: a.PID, TID: a.TID, Name: a.Name, CPU: cpu, New: !known,
		RunNs: max(a.RunNs-b.RunNs, 0), UserNs: max(a.UserNs-b.UserNs, 0), SysNs: max(a.SysNs-b.SysNs, 0),
		WaitNs: wait, Timeslices: turns, HasWait: a.HasWait && (!known || b.HasWait), Voluntary: vol,
		Involuntary: invol,
	}
}

// Rusage is what this process has used since it began, ended threads included
// (getrusage(2), RUSAGE_SELF).
type Rusage struct {
	RunNs                  int64 // CLOCK_PROCESS_CPUTIME_ID
	UserNs, SysNs          int64 // their ratio is tick-sampled
	Voluntary, Involuntary int64 // context switches
	MinorFaults            int64
	MajorFaults            int64
}

// ReadRusage reads this process' resource usage.
func ReadRusage() (Rusage, error) {
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
		return Rusage{}, fmt.Errorf("read resource usage: %w", err)
	}
	run, err := clock(unix.CLOCK_PROCESS_CPUTIME_ID)
	if err != nil {
		return Rusage{}, fmt.Errorf("read cpu clock of the process: %w", err)
	}
	return Rusage{
		RunNs: run, UserNs: ru.Utime.Nano(), SysNs: ru.Stime.Nano(),
		Voluntary: int64(ru.Nvcsw), Involuntary: int64(ru.Nivcsw),
		MinorFaults: int64(ru.Minflt), MajorFaults: int64(ru.Majflt),
	}, nil
}

// ThreadMetrics describe what the process and its threads used.
var ThreadMetrics = []measure.MetricDoc{
	{Names: "process_run_cores process_user_cores process_sys_cores",
		Units: "cores", Source: "CLOCK_PROCESS_CPUTIME_ID; getrusage",
		Meaning: "of the whole process"},
	{Names: "process_minor_faults process_major_faults process_voluntary_switches " +
		"process_involuntary_switches",
		Units: "1", Source: "getrusage",
		Meaning: "getrusage"},
	{Names: "thread_data_path_run_cores thread_data_path_user_cores " +
		"thread_data_path_sys_cores thread_data_path_wait_cores",
		Units: "cores", Source: "CLOCK_THREAD_CPUTIME_ID; /proc/PID/task/TID",
		Meaning: "of the thread that moves the payload, of several the first flow's; the last is time spent " +
			"runnable " +
			"without a CPU, absent where the kernel does not count it"},
	{Names: "thread_data_path_voluntary_switches thread_data_path_involuntary_switches",
		Units: "1", Source: "/proc/PID/task/TID/status",
		Meaning: "how often that thread gave its CPU up to wait (it slept), and how often " +
			"another took it"},
	{Names: "thread_cpuN_run_cores",
		Units: "cores", Source: "CLOCK_THREAD_CPUTIME_ID",
		Meaning: "the data path's time by CPU it ran on"},
}
