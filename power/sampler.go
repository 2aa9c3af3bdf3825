// SPDX-License-Identifier: MIT

package power

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/machine/counter"
)

// Bounds of sampling.
const (
	DefaultInterval = 100 * time.Millisecond
	LeastInterval   = 10 * time.Millisecond
	MostInterval    = time.Second // that is asked for; some sources are slower
	mostSamples     = 1 << 20     // per source: a day at 10 Hz
	mostFailures    = 1 << 20
	mostReasons     = 4096 // of the newest failures whose texts are kept: 7 min at 10 Hz
)

// readTime is how long a source may take to answer before the reading counts as
// failed. Tests of instruments that never answer have less patience.
var readTime = 3 * time.Second

// Sampler reads sources side by side until Close.
type Sampler struct {
	readers []*reader
	cancel  context.CancelFunc
	started int64
}

// reader is one source and its thread.
type reader struct {
	src      Source
	interval time.Duration
	limit    time.Duration
	most     int   // samples that are kept
	opened   int64 // CPU time outside of the thread until sampling began
	done     chan struct{}
	quick    bool       // see info.Quick
	reading  sync.Mutex // of the source

	mu     sync.Mutex
	trace  Trace
	costNs int64 // CPU time of the thread, so far
	reads  int
}

// Start samples sources at an interval, or less often where a source asks for
// that. It takes the sources over: Close closes them.
func Start(sources []Source, interval time.Duration) *Sampler {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Sampler{cancel: cancel, started: counter.Monotonic()}
	for _, src := range sources {
		info := src.Info()
		r := &reader{src: src, interval: max(interval, info.MinInterval, LeastInterval), limit: readTime,
			most: mostSamples, done: make(chan struct{}), quick: info.Quick}
		r.trace = Trace{Info: info, Interval: r.interval}
		if sp, ok := src.(spender); ok {
			r.opened = sp.SpentNs()
		}
		s.readers = append(s.readers, r)
		if _, later := src.(importer); later {
			close(r.done)
			continue
		}
		go r.run(ctx)
	}
	return s
}

// run reads until ctx ends. The thread is its own so that its clock tells what
// sampling costs.
func (r *reader) run(ctx context.Context) {
	defer close(r.done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tid := unix.Gettid()
	began, _ := counter.ThreadClock(tid) // of a living thread of ours: cannot fail
	tick := time.NewTicker(r.interval)
	defer tick.Stop()
	for {
		r.read(ctx)
		now, _ := counter.ThreadClock(tid)
		r.mu.Lock()
		r.costNs = now - began
		r.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (r *reader) read(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	r.reading.Lock() // a source is read by one at a time, and readings are in the order of time
	defer r.reading.Unlock()
	rctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	v := make([]int64, len(r.trace.Info.Channels))
	for i := range v {
		v[i] = none
	}
	from := counter.Monotonic()
	err := r.src.Read(rctx, v)
	to := counter.Monotonic()
	if ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace.Info = r.src.Info() // a source may learn by reading what of it adds up
	r.reads++
	var gap *gap
	if err != nil && !errors.As(err, &gap) {
		r.fail(from, err)
		return
	}
	if gap != nil {
		r.fail(from, err)
	}
	if len(r.trace.Samples) >= r.most {
		r.fail(from, fmt.Errorf("%d readings are kept, the limit: no more are recorded", r.most))
		return
	}
	s := sample{AtNs: from + (to-from)/2, V: v, Gap: gap != nil}
	if a, ok := r.src.(assessor); ok {
		s.U = a.LastUncertainty()
	}
	r.trace.Samples = append(r.trace.Samples, s)
}

// fail keeps when each failure was: a source that is gone for long is counted
// right.
func (r *reader) fail(at int64, err error) {
	r.trace.Failed++
	f := append(r.trace.Failures, failure{AtNs: at, Why: err.Error()})
	if n := len(f) - 1 - mostReasons; n >= 0 {
		f[n].Why = ""
	}
	if len(f) > mostFailures {
		f = slices.Delete(f, 0, len(f)/4)
	}
	r.trace.Failures = f
}

// Traces returns what was read between two moments of CLOCK_MONOTONIC, one per source in their
// order.
func (s *Sampler) Traces(fromNs, toNs int64) []Trace {
	var out []Trace
	for _, r := range s.readers {
		out = append(out, r.between(fromNs, toNs))
	}
	return out
}

func (r *reader) between(fromNs, toNs int64) Trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.trace
	if im, ok := r.src.(importer); ok {
		t.Samples, t.Failures, t.Failed = nil, nil, 0
		samples, err := im.Import(fromNs, toNs)
		if err != nil {
			t.Failures, t.Failed = []failure{{AtNs: fromNs, UntilNs: toNs, Why: err.Error()}}, 1
		}
		t.Samples, t.Interval = samples, spacing(samples)
		return t
	}
	t.Samples = slices.Clone(t.Samples[indexAt(t.Samples, fromNs):indexAt(t.Samples, toNs+1)])
	t.Failures = slices.Clone(t.Failures[failureAt(t.Failures, fromNs):failureAt(t.Failures, toNs+1)])
	return t
}

// indexAt finds the first sample not before ns.
func indexAt(samples []sample, ns int64) int {
	i, _ := slices.BinarySearchFunc(samples, ns, func(s sample, ns int64) int { return cmp.Compare(s.AtNs, ns) })
	return i
}

// failureAt finds the first failure not before ns.
func failureAt(failures []failure, ns int64) int {
	i, _ := slices.BinarySearchFunc(failures, ns, func(f failure, ns int64) int { return cmp.Compare(f.AtNs, ns) })
	return i
}

// spacing returns the usual time between logged readings, their median.
func spacing(samples []sample) time.Duration {
	var d []int64
	for i := 1; i < len(samples); i++ {
		d = append(d, samples[i].AtNs-samples[i-1].AtNs)
	}
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return time.Duration(d[len(d)/2])
}

// Forget drops readings and failures before a moment: a session of many runs
// needs them only until its run is done.
func (s *Sampler) Forget(beforeNs int64) {
	for _, r := range s.readers {
		r.mu.Lock()
		r.trace.Samples = slices.Delete(r.trace.Samples, 0, indexAt(r.trace.Samples, beforeNs))
		r.trace.Failures = slices.Delete(r.trace.Failures, 0, failureAt(r.trace.Failures, beforeNs))
		r.mu.Unlock()
	}
}

// Cost is what sampling one source has used.
type Cost struct {
	Name  string
	Cores float64 // CPU time per time since the start: thread and children
	Reads int
}

// Cost returns what sampling has used so far, by source.
func (s *Sampler) Cost() []Cost {
	wall := float64(max(counter.Monotonic()-s.started, 1))
	var out []Cost
	for _, r := range s.readers {
		r.mu.Lock()
		ns := r.costNs
		c := Cost{Name: r.trace.Info.Name, Reads: r.reads}
		r.mu.Unlock()
		if sp, ok := r.src.(spender); ok {
			ns += sp.SpentNs() - r.opened
		}
		c.Cores = float64(ns) / wall
		out = append(out, c)
	}
	return out
}

// closeTime is how long a source may take to let go.
const closeTime = 2 * time.Second

// Close stops sampling and closes the sources. One that does not let go of its
// reading in time is left behind, with an error.
func (s *Sampler) Close() error {
	s.cancel()
	var err error
	for _, r := range s.readers {
		select {
		case <-r.done:
			err = errors.Join(err, r.src.Close())
		case <-time.After(closeTime):
			r.mu.Lock()
			name := r.trace.Info.Name
			r.mu.Unlock()
			err = errors.Join(err, fmt.Errorf("power source %s hangs while reading and was abandoned", name))
		}
	}
	return err
}
