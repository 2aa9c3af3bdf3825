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
	Hooks   []Hook
	set     *set
	eventNs float64
	otherNs float64 // of a switch to another task and away from it
	polled  bool    // the flow's interface has polls of its own
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
	tasksMore  = []string{tasksProgIrqBegan, tasksProgIrqEnded, tasksProgTimerBegan, tasksProgTimerEnded,
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
	s, err := newSet(loadTasks, map[string]any{tasksVarOwnIfindex: own, tasksVarOwnNetns: o.Netns,
		tasksVarPairIfindex: uint32(o.PairIfindex), tasksVarPairNetns: o.PairNetns,
		tasksVarOthersAreForeign: foreign})
	if err != nil {
		return nil, err
	}
	t := &Tasks{set: s, polled: len(o.Ifindexes) > 0 && !o.ByPacket}
	if err := t.open(o); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
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
		t.Hooks = append(t.Hooks, t.set.hook("tasks", name))
	}
	cpus, err := onlineCPUs()
	if err != nil {
		return err
	}
	if err := t.runOn(tasksProgBegin, cpus); err != nil {
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

// rawCPU is struct cpu of tasks.bpf.c.
type rawCPU struct {
	Done                             uint64
	First, Last                      uint64
	Ns                               [counter.TaskClasses * counter.TaskContexts]uint64
	Hard, Turns, Softs, Polls, Hards [counter.TaskClasses]uint64
	HardAt                           uint64
	Class, Context                   uint32
	Key, Slice                       uint64
	Name                             [16]byte
	Net                              uint64
	NetName                          [16]byte
	Tasks                            [8]rawRow
	Devs                             [4]rawRow
	Begun                            uint64
}

type rawRow struct {
	Key, Ns, Before uint64
	Name            [16]byte
}

// torn reports whether a program changed the record while it was copied, word by word from its
// beginning (kernel/bpf, bpf_long_memcpy). Where the CPUs do not keep the order of stores, the sum
// of all time tells more of such.
func (r *rawCPU) torn() bool {
	var sum uint64
	for _, n := range r.Ns {
		sum += n
	}
	return r.Done != r.Begun || sum != r.Last-r.First
}

// A copy is made again where it took longer than slowCopy and some for each CPU, for it is not
// known when in that time a CPU was copied, and where CPUs changed meanwhile; each up to a number
// of times.
const (
	mostCopies  = 100
	slowCopies  = 10
	slowCopy    = 100 * time.Microsecond
	slowCopyCPU = 2 * time.Microsecond
)

// Read reads the times up to now. What runs has the time since the last switch. A CPU that changes
// too fast is left out.
func (t *Tasks) Read() (*counter.TaskTimes, error) {
	possible, err := ebpf.PossibleCPU()
	if err != nil {
		return nil, fmt.Errorf("read who had the CPUs: %w", err)
	}
	online, err := onlineCPUs()
	if err != nil {
		return nil, err
	}
	out := &counter.TaskTimes{EventNs: t.eventNs, OtherNs: t.otherNs, Polled: t.polled, Missed: t.set.missed()}
	raw, slow := make([]rawCPU, possible), slowCopy+time.Duration(possible)*slowCopyCPU
	for i := 0; i < mostCopies && len(online) > 0; i++ {
		from := counter.Monotonic()
		if err := t.set.maps.Maps[tasksMapCpus].Lookup(uint32(0), &raw); err != nil {
			return nil, fmt.Errorf("read who had the CPUs: %w", err)
		}
		now := counter.Monotonic()
		if i < slowCopies && now-from > int64(slow) {
			continue
		}
		online = slices.DeleteFunc(online, func(c int) bool {
			if c >= len(raw) || raw[c].First != 0 && raw[c].torn() {
				return false
			}
			if raw[c].First != 0 {
				out.CPUs = append(out.CPUs, raw[c].until(c, uint64(now)))
			}
			return true
		})
	}
	out.Unread = online
	slices.SortFunc(out.CPUs, func(a, b counter.CPUTasks) int { return a.CPU - b.CPU })
	return out, nil
}

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
		c.Hard[i] = int64(r.Hard[i])
	}
	c.Turns, c.Softs, c.Polls, c.Hards = r.Turns, r.Softs, r.Polls, r.Hards
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
	return t.set.close()
}
