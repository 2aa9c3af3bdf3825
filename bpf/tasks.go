// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/cpulist"
	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/machine/counter"
)

// Tasks counts who had each CPU, for this process. It is a [counter.TaskReader].
type Tasks struct {
	Hooks    []Hook
	set      *set
	records  *records
	cpus     []int // online ones, when it began
	eventNs  float64
	otherNs  float64 // of a switch to another task and away from it
	polled   bool    // the flow's interface has polls of its own
	steal    bool    // the kernel knows what the hypervisor took
	programs int     // of this kind that are at work, as far as is known
}

// TasksOptions say what is the flow's beside the threads of this process.
type TasksOptions struct {
	Ifindexes []int // of the flow's interface and those below it
	Netns     uint32
	// PairIfindex is the interface of the flow's other end on this machine, in the namespace
	// PairNetns, whose polls are the flow's too; 0: there is none.
	PairIfindex int
	PairNetns   uint32
	// OthersForeign: no other interface brings packets of the flow. Where one may, as behind a
	// bridge, its polls are of nobody.
	OthersForeign bool
	// ByPacket: the flow's interface has no NAPI of its own, as veth and loopback mostly have none,
	// so that its packets come by a backlog, with others'.
	ByPacket bool
	Serving  []int // kernel threads, such as those of threaded NAPI
}

// Programs without which nothing is counted, in the order in which they are attached, and those
// that tell more where they can be had.
var (
	tasksNeeds = []string{tasksProgSwitched, tasksProgSoftirqBegan, tasksProgSoftirqEnded, tasksProgPolled}
	tasksMore  = []string{tasksProgRested, tasksProgIrqBegan, tasksProgIrqEnded, tasksProgTimerBegan,
		tasksProgTimerEnded, tasksProgReschedBegan, tasksProgReschedEnded, tasksProgCallBegan, tasksProgCallEnded,
		tasksProgWorkBegan, tasksProgWorkEnded, tasksProgQueued}
)

// errRealTime is that softirqs are threads' work there.
var errRealTime = errors.New("the kernel is PREEMPT_RT, where softirq is preempted: who had a CPU is not told there")

// OpenTasks begins to count. It needs CAP_BPF and CAP_PERFMON, and a kernel of which
// BPF_PROG_TEST_RUN runs a program on a CPU of choice: Linux 5.10, and this tool asks for 5.18.
func OpenTasks(o TasksOptions) (*Tasks, error) {
	if realTime() {
		return nil, errRealTime
	}
	var own [4]uint32
	for i := range min(len(o.Ifindexes), len(own)) {
		own[i] = uint32(o.Ifindexes[i])
	}
	foreign := uint32(0)
	if o.OthersForeign && len(o.Ifindexes) <= len(own) {
		foreign = 1
	}
	s, err := newSet(loadTasksForCPUs, map[string]any{tasksVarOwnIfindex: own, tasksVarOwnNetns: o.Netns,
		tasksVarPairIfindex: uint32(o.PairIfindex), tasksVarPairNetns: o.PairNetns,
		tasksVarOthersAreForeign: foreign})
	if err != nil {
		return nil, err
	}
	t := &Tasks{set: s, polled: len(o.Ifindexes) > 0 && !o.ByPacket, programs: 1}
	if o.PairIfindex > 0 { // its agent has one, too
		t.programs = 2
	}
	if t.records, err = mapRecords(s.maps.Maps[tasksMapCpus]); err == nil {
		err = t.open(o)
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// loadTasksForCPUs makes room for all CPUs that there may be.
func loadTasksForCPUs() (*ebpf.CollectionSpec, error) {
	spec, err := loadTasks()
	if err != nil {
		return nil, err
	}
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return nil, fmt.Errorf("make room for the times of each CPU: %w", err)
	}
	spec.Maps[tasksMapCpus].MaxEntries = uint32(cpus)
	return spec, nil
}

// realTime reports whether the kernel is PREEMPT_RT. Not each that is has the file.
func realTime() bool {
	b, err := kernelfile.ReadFile("/sys/kernel/realtime")
	if err == nil && strings.TrimSpace(string(b)) == "1" {
		return true
	}
	var u unix.Utsname
	return unix.Uname(&u) == nil && saysRealTime(unix.ByteSliceToString(u.Version[:]))
}

// saysRealTime reports whether a kernel's version, as uname -v has it, is that of PREEMPT_RT.
func saysRealTime(version string) bool {
	return strings.Contains(version, "PREEMPT_RT") || strings.Contains(version, "PREEMPT RT")
}

func (t *Tasks) open(o TasksOptions) error {
	parent := uint32(0)
	if parentIsOurs() {
		parent = 1
	}
	if err := t.set.maps.Variables[tasksVarParentToo].Set(parent); err != nil {
		return fmt.Errorf("tell tasks apart: %w", err)
	}
	if err := t.runOn(tasksProgLearn, nil); err != nil {
		return err
	}
	if err := t.Serve(o.Serving); err != nil {
		return err
	}
	needs := tasksNeeds
	if o.ByPacket {
		needs = append(slices.Clip(needs), tasksProgReceived)
	}
	for _, name := range needs {
		h := t.set.hook("tasks", name)
		if t.Hooks = append(t.Hooks, h); h.Reason != "" {
			return fmt.Errorf("tell tasks apart: %s: %s", h.Function, h.Reason)
		}
	}
	for _, name := range tasksMore {
		h := t.set.hook("tasks", name)
		t.Hooks = append(t.Hooks, h)
		if name == tasksProgRested && h.Reason == "" {
			if err := t.set.maps.Variables[tasksVarRestsTold].Set(uint32(1)); err != nil {
				return fmt.Errorf("tell rest apart: %w", err)
			}
		}
	}
	var told uint32
	if err := t.set.maps.Variables[tasksVarStealTold].Get(&told); err != nil {
		return fmt.Errorf("tell stolen time: %w", err)
	}
	t.steal = told != 0
	var err error
	if t.cpus, err = onlineCPUs(); err != nil {
		return err
	}
	if err := t.runOn(tasksProgBegin, t.cpus); err != nil {
		return err
	}
	return t.calibrate()
}

// How often [tasksProgCalibrate] does what a switch does, and how often that is timed: the shortest
// time is one in which nothing came between.
const (
	calibrated   = 128
	calibrations = 32
)

// calibrate measures what the programs take at a switch, ns. What the kernel takes to call them is
// not in it.
func (t *Tasks) calibrate() error {
	p, err := t.set.program(tasksProgCalibrate, nil)
	if err != nil {
		return t.set.explain("load "+tasksProgCalibrate, err)
	}
	defer p.Close()
	for range calibrations {
		if _, err := p.Run(&ebpf.RunOptions{}); err != nil {
			return notAttached(tasksProgCalibrate, err)
		}
		for name, least := range map[string]*float64{tasksVarCalibratedNs: &t.eventNs,
			tasksVarCalibratedOtherNs: &t.otherNs} {
			var ns uint64
			if err := t.set.maps.Variables[name].Get(&ns); err != nil {
				return fmt.Errorf("time the switches' program: %w", err)
			}
			if each := float64(ns) / calibrated; *least == 0 || each < *least {
				*least = each
			}
		}
	}
	return nil
}

// Serve counts kernel threads as such that serve the flow, from their next turn on.
func (t *Tasks) Serve(pids []int) error {
	if t == nil {
		return nil
	}
	for _, pid := range pids {
		if err := t.set.maps.Maps[tasksMapServing].Put(uint32(pid), uint32(1)); err != nil {
			return fmt.Errorf("tell tasks apart: thread %d: %w", pid, err)
		}
	}
	return nil
}

// parentIsOurs reports whether what started this process is zcbench too: then its other children
// are of the benchmark.
func parentIsOurs() bool {
	own, err := os.Stat("/proc/self/exe")
	if err != nil {
		return false
	}
	parent, err := os.Stat(fmt.Sprintf("/proc/%d/exe", os.Getppid()))
	return err == nil && os.SameFile(own, parent)
}

func onlineCPUs() ([]int, error) {
	b, err := kernelfile.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, fmt.Errorf("find the online CPUs: %w", err)
	}
	return cpulist.Parse(strings.TrimSpace(string(b)))
}

// runOn runs a program once on each CPU, in an interrupt, or without a list in this thread.
func (t *Tasks) runOn(name string, cpus []int) error {
	p, err := t.set.program(name, nil)
	if err != nil {
		return t.set.explain("load "+name, err)
	}
	defer p.Close()
	if cpus == nil {
		if _, err := p.Run(&ebpf.RunOptions{}); err != nil {
			return notAttached(name, err)
		}
	}
	for _, c := range cpus {
		_, err := p.Run(&ebpf.RunOptions{Flags: unix.BPF_F_TEST_RUN_ON_CPU, CPU: uint32(c)})
		if err != nil && !errors.Is(err, unix.ENXIO) { // it went offline
			return notAttached(name, err)
		}
	}
	return nil
}

// A CPU that changes while it is copied is copied again, up to a number of times. Of a virtual
// machine it may be halted in the middle of a change, until its host lets it go on: that is waited
// for, up to so many milliseconds.
const (
	mostCopies = 100
	mostWaits  = 50
)

// Read reads the times up to now. What runs has the time since the last switch. A CPU that changes
// too fast is left out.
func (t *Tasks) Read() (*counter.TaskTimes, error) {
	online, err := onlineCPUs()
	if err != nil {
		return nil, err
	}
	out := t.ReadCPUs(online)
	for n := 0; len(out.Unread) > 0 && n < mostWaits; n++ {
		time.Sleep(time.Millisecond)
		out = t.ReadCPUs(online)
	}
	out.Missed = t.Missed()
	return out, nil
}

// ReadCPUs reads those of some CPUs, nil for all that were online at the beginning, and not what
// was missed. It takes no system call.
func (t *Tasks) ReadCPUs(cpus []int) *counter.TaskTimes {
	if cpus == nil {
		cpus = t.cpus
	}
	out := &counter.TaskTimes{EventNs: t.eventNs, OtherNs: t.otherNs, Programs: t.programs, Polled: t.polled,
		Steal: t.steal, CPUs: make([]counter.CPUTasks, 0, len(cpus))}
	var raw rawCPU
	for _, c := range cpus {
		switch now, ok := t.records.read(c, &raw); {
		case !ok:
			out.Unread = append(out.Unread, c)
		case raw.First != 0:
			out.AtNs = now
			out.CPUs = append(out.CPUs, raw.until(c, uint64(now)))
		}
	}
	return out
}

// Missed counts events that the programs did not see.
func (t *Tasks) Missed() uint64 { return t.set.missed() }

// until builds the times of a CPU up to now.
func (r *rawCPU) until(cpu int, now uint64) counter.CPUTasks {
	if now > r.Last && int(r.Class) < counter.TaskClasses && int(r.Context) < counter.TaskContexts {
		d := now - r.Last
		r.Ns[r.Class*counter.TaskContexts+r.Context] += d
		if r.Class == counter.TasksOther && r.Context == counter.TaskItself {
			r.Slice += d
		}
	}
	c := counter.CPUTasks{CPU: cpu}
	for i, n := range r.Ns {
		c.Ns[i/counter.TaskContexts][i%counter.TaskContexts] = int64(n)
	}
	for i := range counter.TaskClasses {
		c.Hard[i], c.Stolen[i] = int64(r.Hard[i]), int64(r.Stolen[i])
	}
	c.Turns, c.Softs, c.Polls, c.Hards, c.Rests = r.Turns, r.Softs, r.Polls, r.Hards, r.Rests
	c.NAPI = r.Polling.counted()
	c.Top, c.Devs = readRows(r.Tasks[:]), readRows(r.Devs[:])
	if r.Class == counter.TasksOther {
		c.Top = addRow(c.Top, rawRow{Key: r.Key, Ns: r.Slice, Name: r.Name})
	}
	return c
}

func readRows(rows []rawRow) (out []counter.TaskRow) {
	for _, r := range rows {
		if r.Ns > 0 {
			out = append(out, r.row())
		}
	}
	return out
}

// addRow adds the turn of a task that still runs.
func addRow(rows []counter.TaskRow, r rawRow) []counter.TaskRow {
	for i := range rows {
		if rows[i].Key == r.Key {
			rows[i].Ns += int64(r.Ns)
			return rows
		}
	}
	return append(rows, r.row())
}

func (r *rawRow) row() counter.TaskRow {
	name, _, _ := strings.Cut(string(r.Name[:]), "\x00")
	return counter.TaskRow{Key: r.Key, Name: plaintext.Line(name), Ns: int64(r.Ns), BeforeNs: int64(r.Before)}
}

// Close detaches the programs.
func (t *Tasks) Close() error {
	if t == nil {
		return nil
	}
	t.records.close()
	return t.set.close()
}
