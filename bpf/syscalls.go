package bpf

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cilium/ebpf"
)

// Syscalls times the system calls of one process, all threads.
type Syscalls struct {
	Hooks []Hook
	set   *set
}

// OpenSyscalls loads the probe for a process, by its id in the initial PID
// namespace. It needs root.
func OpenSyscalls(tgid int) (*Syscalls, error) {
	s, err := newSet(loadSyscalls, map[string]any{"only_tgid": uint32(tgid)})
	if err != nil {
		return nil, err
	}
	c := &Syscalls{set: s}
	for _, program := range []string{syscallsProgSysExit, syscallsProgSysEnter} {
		h := s.hook("syscalls", program)
		c.Hooks = append(c.Hooks, h)
		if h.Reason != "" {
			return nil, errors.Join(fmt.Errorf("time system calls: %s: %s", h.Function, h.Reason), c.Close())
		}
	}
	return c, nil
}

// Call is what a process did with one system call. Only calls that returned
// count.
type Call struct {
	Name          string
	Calls, Errors uint64
	Sum, Min, Max time.Duration
	squares       float64 // sum of ns^2
}

// Mean is the average time of a call.
func (c *Call) Mean() time.Duration {
	if c.Calls == 0 {
		return 0
	}
	return time.Duration(float64(c.Sum) / float64(c.Calls))
}

// Stddev is the standard deviation of the mean as a share of the mean, which is
// what `perf trace -s` has in its column of that name.
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
	Calls, Errors, Sum, Min, Max uint64
	HiHi, HiLo, LoLo             uint64
}

func (c *Call) add(r rawCall) {
	if r.Calls == 0 {
		return
	}
	if c.Calls == 0 || time.Duration(r.Min) < c.Min {
		c.Min = time.Duration(r.Min)
	}
	c.Max = max(c.Max, time.Duration(r.Max))
	c.Calls += r.Calls
	c.Errors += r.Errors
	c.Sum += time.Duration(r.Sum)
	c.squares += float64(r.HiHi)*(1<<40) + 2*float64(r.HiLo)*(1<<20) + float64(r.LoLo)
}

// Read returns the calls since the beginning, the most time first.
func (s *Syscalls) Read() ([]Call, error) {
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return nil, fmt.Errorf("read the system calls: %w", err)
	}
	// All at once: a reading is part of what it measures.
	ids, raw := make([]uint32, len(syscallNames)), make([]rawCall, len(syscallNames)*cpus)
	var cursor ebpf.MapBatchCursor
	n, err := s.set.maps.Maps[syscallsMapCalls].BatchLookup(&cursor, ids, raw, nil)
	if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return nil, fmt.Errorf("read the system calls: %w", err)
	}
	var out []Call
	for i, id := range ids[:n] {
		c := Call{Name: syscallName(int(id))}
		for _, r := range raw[i*cpus : (i+1)*cpus] {
			c.add(r)
		}
		if c.Calls > 0 {
			out = append(out, c)
		}
	}
	SortCalls(out)
	return out, nil
}

// SortCalls puts the most time first.
func SortCalls(calls []Call) {
	slices.SortStableFunc(calls, func(a, b Call) int { return cmp.Compare(b.Sum, a.Sum) })
}

// SubCalls is what came between two readings. Min and Max stay those since the
// beginning: they cannot be taken apart.
func SubCalls(now, earlier []Call) []Call {
	before := map[string]Call{}
	for _, c := range earlier {
		before[c.Name] = c
	}
	var out []Call
	for _, c := range now {
		b := before[c.Name]
		c.Calls, c.Errors, c.Sum, c.squares = c.Calls-b.Calls, c.Errors-b.Errors, c.Sum-b.Sum, c.squares-b.squares
		if c.Calls > 0 {
			out = append(out, c)
		}
	}
	SortCalls(out)
	return out
}

func syscallName(id int) string {
	if id < len(syscallNames) && syscallNames[id] != "" {
		return syscallNames[id]
	}
	return fmt.Sprintf("syscall_%d", id)
}

// Close detaches everything.
func (s *Syscalls) Close() error { return s.set.close() }
