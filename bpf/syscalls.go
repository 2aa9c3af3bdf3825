// SPDX-License-Identifier: MIT

package bpf

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/zcbench/zcbench/machine/measure"

	"github.com/cilium/ebpf"
)

// Syscalls times the system calls of one process, all threads.
type Syscalls struct {
	Hooks []Hook
	set   *set

	ids []uint32 // room for a reading
	raw []rawCall

	window   uint32             // number of readings
	extremes map[string]extreme // since the beginning, of all windows but the last
}

// extreme is the least and the most of something.
type extreme struct{ min, max time.Duration }

func (e *extreme) add(min, max time.Duration) {
	if e.max == 0 || min < e.min {
		e.min = min
	}
	if max > e.max {
		e.max = max
	}
}

// OpenSyscalls loads the probe for a process, by the id that /proc has for it. It
// needs root.
func OpenSyscalls(tgid int) (*Syscalls, error) { return openSyscalls(tgid, 0) }

// OpenTurnSyscalls loads it for this process, whose flows have turns: threads can be left out, and
// a call that began before its turn counts from there on.
func OpenTurnSyscalls() (*Syscalls, error) { return openSyscalls(os.Getpid(), 1) }

func openSyscalls(tgid int, leaves uint32) (*Syscalls, error) {
	p, err := findProcess(tgid)
	if err != nil {
		return nil, err
	}
	vars := p.vars()
	vars[syscallsVarLeaves] = leaves
	s, err := newSet(loadSyscalls, vars)
	if err != nil {
		return nil, err
	}
	c := &Syscalls{set: s, extremes: map[string]extreme{}}
	for _, program := range []string{syscallsProgSysExit, syscallsProgSysEnter} {
		h := s.hook("syscalls", program)
		c.Hooks = append(c.Hooks, h)
		if h.Reason != "" {
			return nil, errors.Join(fmt.Errorf("time system calls: %s: %s", h.Function, h.Reason), c.Close())
		}
	}
	return c, nil
}

// leftOut is how many slots there are for threads that are left out.
const leftOut = 4096

// LeaveOut leaves calls that return to a thread of this process out, by its id, or no longer.
func (s *Syscalls) LeaveOut(tid int, out bool) error {
	thread := uint32(tid)
	if !out {
		thread = 0
	}
	if err := s.set.maps.Maps[syscallsMapLeft].Put(uint32(tid)%leftOut, thread); err != nil {
		return fmt.Errorf("leave thread %d out of the system calls: %w", tid, err)
	}
	return nil
}

// Begin lets calls that began before now count from now on.
func (s *Syscalls) Begin(nowNs int64) error {
	return s.set.maps.Variables[syscallsVarSince].Set(uint64(nowNs))
}

// Call is what a process did with one system call. Only calls that returned
// count.
type Call struct {
	Name          string
	Calls, Errors uint64
	Sum, Min, Max time.Duration // Min and Max: 0 where they are not known
	squares       float64       // sum of ns^2
	last          extreme       // since the reading before
	reading       uint32
}

// Mean returns the average time of a call.
func (c *Call) Mean() time.Duration {
	if c.Calls == 0 {
		return 0
	}
	return time.Duration(float64(c.Sum) / float64(c.Calls))
}

// Stddev returns the standard deviation of the mean as a share of the mean, which is what `perf
// trace -s` has in its column of that name; 0 for a single call, which has none.
func (c *Call) Stddev() float64 {
	n, sum := float64(c.Calls), float64(c.Sum)
	if c.Calls < 2 || c.Sum == 0 {
		return 0
	}
	variance := (c.squares - sum*sum/n) / (n - 1)
	return math.Sqrt(max(variance, 0)/n) / (sum / n)
}

// rawCall is struct call of syscalls.bpf.c.
type rawCall struct {
	Calls, Sum, Min, Max uint64
	LoLo                 uint64
	Window               uint64
	Errors, HiHi, HiLo   uint64
}

func (c *Call) add(r rawCall) {
	if r.Calls == 0 {
		return
	}
	if uint32(r.Window) == c.reading {
		c.last.add(time.Duration(r.Min), time.Duration(r.Max))
	}
	c.Calls += r.Calls
	c.Errors += r.Errors
	c.Sum += time.Duration(r.Sum)
	c.squares += float64(r.HiHi)*(1<<40) + 2*float64(r.HiLo)*(1<<20) + float64(r.LoLo)
}

// Read returns the calls since the beginning, the most time first, and begins a
// window of least and most times ([SubCalls]). Those of calls that end meanwhile may
// be lost.
func (s *Syscalls) Read() ([]Call, error) {
	out, err := s.Peek()
	if err != nil {
		return nil, err
	}
	s.window++
	return out, s.set.maps.Variables[syscallsVarWindow].Set(s.window)
}

// Peek reads as Read does, within a window.
func (s *Syscalls) Peek() ([]Call, error) {
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return nil, fmt.Errorf("read the system calls: %w", err)
	}
	// All at once: a reading is part of what it measures.
	calls := s.set.maps.Maps[syscallsMapCalls]
	if s.raw == nil {
		s.ids, s.raw = make([]uint32, calls.MaxEntries()), make([]rawCall, int(calls.MaxEntries())*cpus)
	}
	ids, raw := s.ids, s.raw
	var cursor ebpf.MapBatchCursor
	n, err := calls.BatchLookup(&cursor, ids, raw, nil)
	if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return nil, fmt.Errorf("read the system calls: %w", err)
	}
	var out []Call
	for i, id := range ids[:n] {
		c := Call{Name: syscallName(int(id)), reading: s.window}
		for _, r := range raw[i*cpus : (i+1)*cpus] {
			c.add(r)
		}
		if c.Calls == 0 {
			continue
		}
		all := s.extremes[c.Name]
		if c.last.max > 0 {
			all.add(c.last.min, c.last.max)
		}
		c.Min, c.Max, s.extremes[c.Name] = all.min, all.max, all
		out = append(out, c)
	}
	sortCalls(out)
	return out, nil
}

// sortCalls puts the most time first.
func sortCalls(calls []Call) {
	slices.SortStableFunc(calls, func(a, b Call) int { return cmp.Compare(b.Sum, a.Sum) })
}

// SubCalls returns what came between two readings. Min and Max are exact if no reading lies between
// them, else they are those since the beginning; both are 0 where they are not known.
func SubCalls(now, earlier []Call) []Call {
	before := map[string]Call{}
	for _, c := range earlier {
		before[c.Name] = c
	}
	var out []Call
	for _, c := range now {
		b := before[c.Name]
		c.Calls, c.Errors, c.Sum, c.squares = c.Calls-b.Calls, c.Errors-b.Errors, c.Sum-b.Sum, c.squares-b.squares
		if c.Calls == 0 {
			continue
		}
		if len(earlier) > 0 && c.reading == earlier[0].reading+1 {
			c.Min, c.Max = c.last.min, c.last.max
		}
		c.settle()
		out = append(out, c)
	}
	sortCalls(out)
	return out
}

// AddCalls adds what came between two other readings. Least and most times that are not known of
// some are not known of all.
func AddCalls(sum, more []Call) []Call {
	at := map[string]int{}
	for i := range sum {
		at[sum[i].Name] = i
	}
	for _, c := range more {
		i, known := at[c.Name]
		if !known {
			sum = append(sum, c)
			continue
		}
		s := &sum[i]
		s.Calls, s.Errors, s.Sum, s.squares = s.Calls+c.Calls, s.Errors+c.Errors, s.Sum+c.Sum, s.squares+c.squares
		if s.Max == 0 || c.Max == 0 {
			s.Min, s.Max = 0, 0
			continue
		}
		s.Min, s.Max = min(s.Min, c.Min), max(s.Max, c.Max)
	}
	sortCalls(sum)
	return sum
}

// settle leaves out least and most times that cannot be those of the calls. A call that ended
// between a reading and the beginning of the next window is in the sums of the one and in the
// extremes of the other: such is each that a reading makes itself, where it reads its own process.
// No time is outside of its extremes, so the sum of (t-min)(max-t) is not negative.
func (c *Call) settle() {
	if c.Calls == 1 {
		c.Min, c.Max = c.Sum, c.Sum
		return
	}
	n, sum, least, most := float64(c.Calls), float64(c.Sum), float64(c.Min), float64(c.Max)
	const rounding = 1e-9
	if c.Max == 0 || sum < n*least || sum > n*most || (least+most)*sum-n*least*most-c.squares < -rounding*(least+
		most)*sum {
		c.Min, c.Max = 0, 0
	}
}

func syscallName(id int) string {
	if id < len(syscallNames) && syscallNames[id] != "" {
		return syscallNames[id]
	}
	return fmt.Sprintf("syscall_%d", id)
}

// Close detaches everything.
func (s *Syscalls) Close() error { return s.set.close() }

// SyscallMetrics describe system calls.
var SyscallMetrics = []measure.MetricDoc{
	{Names: "syscall_NAME_calls syscall_NAME_errors syscall_NAME_per_second " +
		"syscall_NAME_per_mb",
		Units: "1 1 1/s 1/MB", Source: "eBPF",
		Meaning: "of the end's process"},
	{Names: "syscall_NAME_total syscall_NAME_min syscall_NAME_avg syscall_NAME_max " +
		"syscall_NAME_stddev",
		Units: "ms ms ms ms %", Source: "eBPF",
		Meaning: "time in them; stddev is that of the mean, of more than one call"},
}
