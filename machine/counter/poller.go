// SPDX-License-Identifier: MIT

package counter

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/machine/measure"
)

// Pollers counts the CPU time of kernel threads that do for a flow what softirq does
// elsewhere: those of threaded NAPI, which poll the queues of an interface, and never
// rest where they busy-poll (net/core/dev.c, napi_threaded_poll, Linux 7.3.4). They run
// wherever the scheduler wants them, so their time is told apart by CPU: perf counts the
// time of one task on one CPU exactly (kernel/events/core.c, task_clock_event_update). The
// zero value counts none.
type Pollers struct {
	fs      FS
	cpus    []int // whose time is told apart
	threads []poller
	missing string // why it is not
}

type poller struct {
	pid   int
	total int   // perf event; -1: none
	on    []int // by position in cpus
}

// pollerTimes is what one such thread has used.
type pollerTimes struct {
	ThreadTimes
	// OnNs is its time on each of the CPUs that are told apart, by their position; nil
	// where that is not known. RunNs is on all.
	OnNs []int64
	// Allowed are the CPUs that it may run on; nil where that is not known.
	Allowed []int
}

// mostPollerEvents bounds open perf events: a NIC may have hundreds of queues.
const mostPollerEvents = 1024

// OpenPollers begins to count the threads with these numbers on cpus, nil for all online
// ones. It never fails: where perf may not be used (CAP_PERFMON) it counts what /proc has.
func OpenPollers(fs FS, pids, cpus []int) *Pollers {
	p := &Pollers{fs: fs, cpus: slices.Clone(cpus)}
	for _, pid := range pids {
		p.threads = append(p.threads, poller{pid: pid, total: -1})
	}
	if len(pids) > 0 && len(cpus) == 0 {
		var err error
		if p.cpus, err = OnlineCPUs(fs); err != nil {
			p.missing = err.Error() // counted without them, all time would be on none
			return p
		}
	}
	if n := len(pids) * (1 + len(p.cpus)); n > mostPollerEvents {
		p.missing = fmt.Sprintf("%d threads on %d CPUs are too many to count separately", len(pids), len(p.cpus))
		return p
	}
	for i := range p.threads {
		if err := p.threads[i].open(p.cpus); err != nil {
			p.missing = perfReason(err)
			p.closeEvents()
			break
		}
	}
	return p
}

func (t *poller) open(cpus []int) (err error) {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_TASK_CLOCK,
		Size: unix.PERF_ATTR_SIZE_VER0}
	if t.total, err = unix.PerfEventOpen(&attr, t.pid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC); err != nil {
		return err
	}
	for _, c := range cpus {
		fd, err := unix.PerfEventOpen(&attr, t.pid, c, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			return err
		}
		t.on = append(t.on, fd)
	}
	return nil
}

func (p *Pollers) closeEvents() {
	for i := range p.threads {
		t := &p.threads[i]
		if t.total >= 0 {
			unix.Close(t.total)
		}
		kernelEvents.closeAll(t.on)
		t.total, t.on = -1, nil
	}
}

// Close ends counting.
func (p *Pollers) Close() {
	if p != nil {
		p.closeEvents()
	}
}

// Read reads all of them. A thread that has ended is left out.
func (p *Pollers) Read() ([]pollerTimes, error) {
	if p == nil {
		return nil, nil
	}
	proc, err := p.fs.procfs()
	if err != nil {
		return nil, fmt.Errorf("read the pollers' CPU time: %w", mounted(err))
	}
	var out []pollerTimes
	for _, th := range p.threads {
		task, err := proc.Proc(th.pid)
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the CPU time of thread %d: %w", th.pid, err)
		}
		t := pollerTimes{}
		if t.ThreadTimes, err = readThread(p.fs, th.pid, task); gone(err) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("read the CPU time of thread %d: %w", th.pid, err)
		}
		if p.fs.live() {
			t.Allowed = allowedCPUs(th.pid)
		}
		if th.total >= 0 {
			if err := t.count(th); err != nil {
				return nil, fmt.Errorf("read the CPU time of thread %d: %w", th.pid, err)
			}
		}
		out = append(out, t)
	}
	return out, nil
}

// count takes the events' word, which does not lag by a tick as /proc does.
func (t *pollerTimes) count(th poller) (err error) {
	if t.RunNs, err = readEvent(th.total); err != nil {
		return err
	}
	t.OnNs = make([]int64, len(th.on))
	for i, fd := range th.on {
		if t.OnNs[i], err = readEvent(fd); err != nil {
			return err
		}
	}
	return nil
}

func readEvent(fd int) (int64, error) {
	var b [8]byte
	if n, err := unix.Read(fd, b[:]); err != nil || n != len(b) {
		return 0, fmt.Errorf("read a perf event: %d bytes, %w", n, err)
	}
	return int64(binary.NativeEndian.Uint64(b[:])), nil
}

func allowedCPUs(tid int) (cpus []int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(tid, &set) != nil {
		return nil
	}
	for c := range len(set) * 64 {
		if set.IsSet(c) {
			cpus = append(cpus, c)
		}
	}
	return cpus
}

// pollerUse is what one thread used in a window.
type pollerUse struct {
	ThreadDelta
	// OnNs is by the CPUs that are told apart; nil: not known.
	OnNs map[int]int64
	// OutsideNs is on other CPUs than the measured ones; -1: not known.
	OutsideNs int64
}

// between matches two readings. Of a thread that was not there at both ends
// nothing is known.
func (p *Pollers) between(before, after []pollerTimes, measured []int) (out []pollerUse) {
	if p == nil {
		return nil
	}
	for _, a := range after {
		i := slices.IndexFunc(before, func(b pollerTimes) bool { return b.PID == a.PID })
		if i < 0 {
			continue
		}
		b := before[i]
		u := pollerUse{ThreadDelta: threadDelta(b.ThreadTimes, a.ThreadTimes, true), OutsideNs: -1}
		if b.OnNs != nil && a.OnNs != nil {
			u.OnNs = map[int]int64{}
			for k, c := range p.cpus {
				u.OnNs[c] = a.OnNs[k] - b.OnNs[k]
			}
		}
		u.OutsideNs = u.outside(measured, a.Allowed, slices.Equal(a.Allowed, b.Allowed))
		out = append(out, u)
	}
	return out
}

// outside computes what the poller used elsewhere than on the measured CPUs, which are all where
// there is no list of them; -1: it is not known.
func (u *pollerUse) outside(measured, allowed []int, same bool) int64 {
	in := func(c int) bool { return slices.Contains(measured, c) }
	out := func(c int) bool { return !in(c) }
	switch {
	case len(measured) == 0:
		return 0
	case u.OnNs != nil:
		rest := u.RunNs
		for c, ns := range u.OnNs {
			if in(c) {
				rest -= ns
			}
		}
		return max(rest, 0)
	case allowed == nil || !same:
		return -1
	case !slices.ContainsFunc(allowed, out):
		return 0
	case !slices.ContainsFunc(allowed, in):
		return u.RunNs
	}
	return -1
}

// Polled is what the pollers of a flow used in a window, cores.
type Polled struct {
	Threads int
	Cores   float64         // on all CPUs
	Outside float64         // of that, on other CPUs than the measured ones
	Unknown float64         // of that, on CPUs that are not known
	Busiest float64         // of one thread
	Of      map[int]float64 // each thread, by its number
	on      map[int]float64
}

func polled(uses []pollerUse, wall float64) *Polled {
	if len(uses) == 0 || wall <= 0 {
		return nil
	}
	p := &Polled{Threads: len(uses), Of: map[int]float64{}, on: map[int]float64{}}
	for _, u := range uses {
		cores := float64(u.RunNs) / 1e9 / wall
		p.Cores, p.Busiest, p.Of[u.PID] = p.Cores+cores, max(p.Busiest, cores), cores
		if u.OutsideNs < 0 {
			p.Unknown += cores
		} else {
			p.Outside += float64(u.OutsideNs) / 1e9 / wall
		}
		for c, ns := range u.OnNs {
			p.on[c] += float64(ns) / 1e9 / wall
		}
	}
	return p
}

// asOwn turns the pollers into threads of the benchmark: what they use on a measured CPU is no load
// of others.
func asOwn(uses []pollerUse) (out []ThreadDelta) {
	for _, u := range uses {
		if u.OnNs == nil {
			out = append(out, u.ThreadDelta) // pinned, or anywhere
			continue
		}
		for c, ns := range u.OnNs {
			if ns > 0 {
				out = append(out, ThreadDelta{PID: u.PID, TID: u.TID, Name: u.Name, CPU: c, RunNs: ns})
			}
		}
		out = append(out, ThreadDelta{PID: u.PID, TID: u.TID, Name: u.Name, CPU: -1, Voluntary: u.Voluntary})
	}
	return out
}

// addPollers books the pollers to the flow: their rows, and what to say of them.
func (c *Change) addPollers(r *rows, p *Pollers, before, after []pollerTimes, measured []int) (own []ThreadDelta) {
	uses := p.between(before, after, measured)
	if c.Polled = polled(uses, c.CPU.WallS); c.Polled == nil {
		return nil
	}
	source := "perf_event task-clock"
	if p.missing != "" {
		source = "/proc/PID/task/TID/schedstat"
	}
	r.add("poller_threads", "1", float64(c.Polled.Threads), source, "")
	r.add("poller_cores", "cores", c.Polled.Cores, source, "")
	r.add(measure.MetricBusiestPoller, "cores", c.Polled.Busiest, source, "")
	if c.Polled.Unknown == 0 {
		r.add(measure.MetricPollerOutside, "cores", c.Polled.Outside, source, "")
	}
	for _, cpu := range p.cpus {
		if v := c.Polled.on[cpu]; v > 0 {
			r.add(measure.MetricPollerCores, "cores", v, source, "", strconv.Itoa(cpu))
		}
	}
	if c.Polled.Unknown > defaultForeignThreshold {
		c.Warnings = append(c.Warnings,
			fmt.Sprintf("busy may be up to %.3f cores too low: unknown on which CPUs the interface's NAPI "+
				"threads (%s) ran: %s",
				c.Polled.Unknown, pollerNames(uses), p.missing))
	}
	return asOwn(uses)
}

func pollerNames(uses []pollerUse) string {
	var names []string
	for i, u := range uses {
		if i == 4 {
			names = append(names, "...")
			break
		}
		names = append(names, u.Name)
	}
	return strings.Join(names, ", ")
}

// chargePollers adds to busy what pollers did on CPUs that are not measured. The kernel
// counts it as system time: they do not run as softirq. What is not known is a limit of
// the error.
func (c Change) chargePollers(f *Figures) {
	if c.CPU.BusyCores == nil {
		return
	}
	u := c.CPU.StandardUncertainty()
	f.CPUBusyU = &u
	p := c.Polled
	if p == nil {
		return
	}
	f.CPUPollerCores = &p.Cores
	u = math.Hypot(u, p.Unknown/math.Sqrt(3))
	f.CPUBusyCores = ptr(*c.CPU.BusyCores + p.Outside)
	if c.CPU.SysCores != nil {
		f.CPUSysCores = ptr(*c.CPU.SysCores + p.Outside)
	}
}

// StandardUncertainty computes that of the sum of BusyCores: each counter was read anywhere in its
// tick with equal likelihood. What a hypervisor took counts as busy as far as the CPU was not idle,
// which is anything up to all of it; exact figures are without it.
func (u CPUUsage) StandardUncertainty() (all float64) {
	for _, c := range u.PerCPU {
		if c.BusyCores != nil {
			all = math.Hypot(all, c.UncertaintyCores/math.Sqrt(3))
			if c.StealCores != nil && !u.Exact {
				all = math.Hypot(all, *c.StealCores/math.Sqrt(3))
			}
		}
	}
	return all
}

// PollerMetrics describe what kernel threads that poll used.
var PollerMetrics = []measure.MetricDoc{
	{Names: "poller_threads poller_cores poller_outside_cores poller_cpuN_cores",
		Units: "1 cores cores cores", Source: "perf_event task-clock; /proc/PID/task/TID/schedstat",
		Meaning: "kernel threads that poll the interface (threaded NAPI): how many, their " +
			"CPU time, how much of it on other CPUs than the measured ones, and by CPU. All " +
			"of it is in the column cpu_busy_cores, and none is load of others"},
	{Names: "poller_busiest_cores poller_busy_polls",
		Units: "cores 1", Source: "perf_event task-clock; /proc/PID/task/TID/schedstat; netdev napi-get",
		Meaning: "of the thread that used most; 1: one of them busy-polls and never rests"},
}
