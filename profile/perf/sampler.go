// SPDX-License-Identifier: MIT

package perf

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/cpuclass"
	"golang.org/x/sys/unix"
)

// DefaultHz is beside the beat of timers of 100, 250 and 1000 Hz, so that samples do not always
// meet them; MaxHz is what the kernel takes without throttling.
const (
	DefaultHz = 999
	MaxHz     = 10_000
)

const (
	ringBytes  = 1 << 20
	spoolBytes = 256 << 20
	drainEvery = 100 * time.Millisecond
)

// Options say what is sampled.
type Options struct {
	CPUs    []int // at least one
	Threads []int // only these threads, and what they start, on these CPUs; none: all that runs there
	Hz      int   // 0: [DefaultHz]
	Bytes   int   // of memory for samples, taken as it fills; 0: 256 MiB
	// Clock samples by cpu-clock also where there are cycles.
	Clock bool
	// Of samples by a count instead of time; there is no other one in its place.
	Of Count
}

// Sampler takes samples between Start and Stop. It is not for concurrent use.
type Sampler struct {
	Event Event
	hz    int
	cpus  []int
	fds   []int
	at    []int // the CPUs of fds
	// threads were asked for, not all that runs on the CPUs.
	threads bool
	rings   []*ring
	spool   *spool
	quit    chan struct{}
	done    chan struct{}
	spent   time.Duration // reading rings
}

// Recording is what was sampled. Its memory is the sampler's: it ends with Close.
type Recording struct {
	Event Event
	Hz    int
	CPUs  []int
	// Threads tells that threads were sampled, and not all that ran on the CPUs.
	Threads bool
	// Shares are for how much of the time each CPU's event had a counter of the hardware: where
	// more events want one than there are, they have it in turn. Of threads there are none.
	Shares map[int]float64
	// Share is the least of Shares; of threads, for how much of the time that they ran their
	// events had a counter. 0: not known.
	Share float64
	// RanNs is how long the threads ran while they were sampled; 0: CPUs were, or events had a
	// counter in turn, and nobody knows.
	RanNs int64
	// Spent is how long the rings' reader was at work. The samples' own cost, some 5 us each,
	// is part of what they interrupt.
	Spent time.Duration
	data  []byte
	left  uint64
}

// Open asks the kernel for the events, and sets memory aside. The error of what it refuses has
// the fix.
func Open(o Options) (*Sampler, error) {
	if len(o.CPUs) == 0 {
		return nil, errors.New("no CPU to sample")
	}
	if o.Hz == 0 {
		o.Hz = DefaultHz
	}
	if o.Bytes == 0 {
		o.Bytes = spoolBytes
	}
	s := &Sampler{hz: o.Hz, cpus: o.CPUs, threads: len(o.Threads) > 0}
	err := s.open(o)
	if err == nil {
		s.spool, err = newSpool(o.Bytes)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// open opens all events by cycles or, where there are none, all by the clock.
func (s *Sampler) open(o Options) error {
	if o.Of != "" {
		k, err := o.Of.kind()
		if err != nil {
			return err
		}
		return s.openAs(k, o)
	}
	if !o.Clock {
		err := s.openAs(cycles, o)
		if !absent(err) {
			return err
		}
		if err2 := s.closeEvents(); err2 != nil {
			return err2
		}
		cpuClock := cpuClock
		cpuClock.event.Why = fmt.Sprintf("no cycles can be sampled here: %v", errors.Unwrap(err))
		return s.openAs(cpuClock, o)
	}
	return s.openAs(cpuClock, o)
}

// share lets an event write to the ring of another one.
func share(fd, ring, tid, cpu int) error {
	if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, ring); err != nil {
		return remedy.Error(remedy.PerfOutput, fmt.Sprintf("let thread %d share the ring of CPU %d", tid, cpu), err,
			remedy.On{})
	}
	return nil
}

func (s *Sampler) openAs(k kind, o Options) error {
	s.Event = k.event
	attr, kinds := k.attr(o.Hz, len(o.Threads) > 0), cpuclass.ReadEvents("")
	threads := o.Threads
	if len(threads) == 0 {
		threads = []int{-1}
	}
	for _, cpu := range o.CPUs {
		if k.typ == unix.PERF_TYPE_HARDWARE || k.typ == unix.PERF_TYPE_HW_CACHE {
			attr.Config = kinds.Config(k.conf, cpu)
		}
		ring := -1 // the event whose ring the CPU's other ones write to
		for _, tid := range threads {
			fd, err := unix.PerfEventOpen(&attr, tid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
			if errors.Is(err, unix.ESRCH) && len(threads) > 1 {
				continue // this thread has ended meanwhile
			}
			if err != nil {
				return refusal(err, place(tid, cpu), o.Hz, kernelSysctl)
			}
			s.fds, s.at = append(s.fds, fd), append(s.at, cpu)
			if ring >= 0 {
				if err := share(fd, ring, tid, cpu); err != nil {
					return err
				}
				continue
			}
			r, err := mapRing(fd, ringBytes)
			if err != nil {
				return mapRefusal(err, cpu, kernelSysctl)
			}
			ring, s.rings = fd, append(s.rings, r)
		}
		if ring < 0 {
			return refusal(unix.ESRCH, place(threads[0], cpu), o.Hz, kernelSysctl)
		}
	}
	return nil
}

func place(tid, cpu int) string {
	if tid < 0 {
		return fmt.Sprintf("CPU %d", cpu)
	}
	return fmt.Sprintf("thread %d on CPU %d", tid, cpu)
}

// Start begins to sample.
func (s *Sampler) Start() error {
	if err := s.all(unix.PERF_EVENT_IOC_ENABLE, "start"); err != nil {
		return err
	}
	s.quit, s.done = make(chan struct{}), make(chan struct{})
	go s.drain()
	return nil
}

// all switches all events on or off.
func (s *Sampler) all(request uint, what string) error {
	for _, fd := range s.fds {
		if err := unix.IoctlSetInt(fd, request, 0); err != nil {
			return fmt.Errorf("%s sampling: %w", what, err)
		}
	}
	return nil
}

// drain empties the rings until Stop, and once after it.
func (s *Sampler) drain() {
	defer close(s.done)
	tick := time.NewTicker(drainEvery)
	defer tick.Stop()
	for quit := false; !quit; {
		select {
		case <-tick.C:
		case <-s.quit:
			quit = true
		}
		began := time.Now()
		for _, r := range s.rings {
			r.take(s.spool.keep)
		}
		s.spent += time.Since(began)
	}
}

// Stop ends sampling and returns what there is.
func (s *Sampler) Stop() (*Recording, error) {
	if s.quit == nil {
		return nil, errors.New("sampling has not begun")
	}
	err := s.all(unix.PERF_EVENT_IOC_DISABLE, "stop")
	close(s.quit)
	<-s.done
	s.quit = nil
	counts := map[int]counter.EventCount{}
	for i, fd := range s.fds {
		c, rerr := counter.ReadEvent(fd)
		if err = errors.Join(err, rerr); rerr == nil {
			sum := counts[s.at[i]]
			sum.EnabledNs, sum.RunningNs = sum.EnabledNs+c.EnabledNs, sum.RunningNs+c.RunningNs
			counts[s.at[i]] = sum
		}
	}
	r := &Recording{Event: s.Event, Hz: s.hz, CPUs: s.cpus, Threads: s.threads, Spent: s.spent, data: s.spool.kept(),
		left: s.spool.left}
	r.counted(counts)
	return r, err
}

// nearlyAll is the share of the time that two clocks which are not read at once may differ by.
const nearlyAll = .98

// counted sets the shares from the events' times, those of a CPU together. An event of a thread on
// a CPU is enabled while the thread runs anywhere, and has a counter while it runs there.
func (r *Recording) counted(counts map[int]counter.EventCount) {
	if r.Threads {
		enabled, ran := uint64(0), uint64(0)
		for _, c := range counts {
			enabled, ran = max(enabled, c.EnabledNs), ran+c.RunningNs
		}
		if enabled == 0 {
			return
		}
		if r.Share = min(float64(ran)/float64(enabled), 1); r.Share >= nearlyAll {
			r.Share, r.RanNs = 1, int64(ran)
		}
		return
	}
	r.Share, r.Shares = 1, map[int]float64{}
	for cpu, c := range counts {
		if c.EnabledNs > 0 {
			r.Shares[cpu] = min(float64(c.RunningNs)/float64(c.EnabledNs), 1)
			r.Share = min(r.Share, r.Shares[cpu])
		}
	}
}

// Each calls f with every sample of a window, both ends in CLOCK_MONOTONIC; 0, 0 is all of
// them. Samples of a CPU are in the order of time.
func (r *Recording) Each(fromNs, toNs int64, f func(*Sample)) (Tally, error) {
	if toNs == 0 {
		toNs = math.MaxInt64
	}
	return r.Within([]Span{{fromNs, toNs}}, f)
}

// Span is a time of CLOCK_MONOTONIC.
type Span struct{ FromNs, ToNs int64 }

// Within calls f with every sample of several spans, which are in the order of time.
func (r *Recording) Within(spans []Span, f func(*Sample)) (Tally, error) {
	n := uint64(0)
	t, err := each(r.data, func(s *Sample) {
		i, _ := slices.BinarySearchFunc(spans, s.AtNs, func(x Span, ns int64) int {
			return cmp.Compare(x.ToNs-1, ns)
		})
		if i < len(spans) && spans[i].FromNs <= s.AtNs {
			n++
			f(s)
		}
	})
	t.Samples, t.Left = n, r.left
	return t, err
}

// Close gives everything back. A sampler that still runs is stopped.
func (s *Sampler) Close() error {
	var err error
	if s.quit != nil {
		_, err = s.Stop()
	}
	err = errors.Join(err, s.closeEvents())
	if s.spool != nil {
		err, s.spool = errors.Join(err, s.spool.free()), nil
	}
	return err
}

func (s *Sampler) closeEvents() error {
	var errs []error
	for _, r := range s.rings {
		errs = append(errs, r.unmap())
	}
	for _, fd := range s.fds {
		errs = append(errs, unix.Close(fd))
	}
	s.rings, s.fds, s.at = nil, nil, nil
	return errors.Join(errs...)
}
