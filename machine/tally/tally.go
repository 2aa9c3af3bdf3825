// SPDX-License-Identifier: MIT

// Package tally reads every counter that the network stack, an interface and its driver keep,
// and says what moved between two readings. A run reads them at the edges of its steady window,
// and `zcbench counters` as often as it is told to: by the same readers. What a kernel, driver
// or namespace does not count is not there; what did not move is there and says 0.
//
// Names come from drivers, and are any bytes: [Count.Name] is not to be printed as it is,
// [Count.Metric] has lower-case letters, digits and underscores alone.
package tally

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/zcbench/zcbench/machine/measure"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// Gap is an area, or a part of it, that could not be read.
type Gap struct {
	Area string
	Err  error
}

// Lacking reports whether this kernel, driver or namespace does not have it: nothing is wrong.
func (g Gap) Lacking() bool {
	return errors.Is(g.Err, unix.EOPNOTSUPP) || errors.Is(g.Err, unix.ENOENT)
}

// Reading is all counters at a time.
type Reading struct {
	AtNs   int64 // CLOCK_MONOTONIC, as it began
	TookNs int64 // how long it took
	CostNs int64 // CPU time of the thread that read
	Counts []measure.Count
	Pools  []Pool
	Gaps   []Gap

	// What the counts are made of, for those who look for one of them.
	Link   *rtnl.Link // nil: not read
	Stats  []nic.Stat
	QStats []nic.QStat
	IRQs   map[int]uint64 // by number

	place   *int // of [Config]
	names   map[string]bool
	sockets []int // the flows' own
	poolsAt int   // how many counts there are of the areas before that of the pools
}

// Config says what is read.
type Config struct {
	FS   counter.FS
	Dev  string // the interface; "": none
	Host bool   // also what a run's snapshots have ([counter.Take]): protocols, CPUs, link
	// Place is that of Dev among several, so that the rows of its counters have names of their own
	// ([measure.DevMetric]); nil: it is the only one. Only the first has the host's counters.
	Place *int
}

// Reader reads counters. It is used by one goroutine at a time, on threads in the network
// namespace where it was opened. A nil one reads nothing.
type Reader struct {
	cfg   Config
	dev   *nic.Device // nil: none, or it cannot be asked
	route *rtnl.Conn
	irqs  []nic.QueueIRQ
	gaps  []Gap // that stay
}

// Open finds the interface in the calling thread's network namespace; it fails where there is
// none of that name.
func Open(cfg Config) (*Reader, error) {
	r := &Reader{cfg: cfg}
	if cfg.Dev == "" {
		return r, nil
	}
	_, err := rtnl.LinkNamed(cfg.Dev)
	if err != nil {
		return nil, err
	}
	if r.route, err = rtnl.Dial(); err != nil {
		return nil, err
	}
	if r.dev, err = nic.Open(cfg.Dev); err != nil { // a kernel before 6.3: the rest is to be had
		r.gaps = append(r.gaps, Gap{queue, err}, Gap{pagePool, err}, Gap{ethtool, err}, Gap{interrupt, err})
		return r, nil
	}
	if r.irqs, err = r.dev.QueueIRQs(); err != nil {
		r.gaps = append(r.gaps, Gap{interrupt, err})
	}
	return r, nil
}

// device returns the interface; nil: there is none, or it cannot be asked.
func (r *Reader) Device() *nic.Device {
	if r == nil {
		return nil
	}
	return r.dev
}

// Close closes the sockets.
func (r *Reader) Close() (err error) {
	if r == nil {
		return nil
	}
	if r.dev != nil {
		err = r.dev.Close()
	}
	if r.route != nil {
		err = errors.Join(err, r.route.Close())
	}
	return err
}

// Read reads everything once. Sockets are the flows' own, whose memory is read too.
func (r *Reader) Read(sockets ...int) *Reading {
	if r == nil {
		return nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	x := &Reading{place: r.cfg.Place, AtNs: counter.Monotonic(), Gaps: slices.Clone(r.gaps),
		names: map[string]bool{}, sockets: sockets}
	cpu, _ := counter.ThreadClock(0) // there always is one
	for _, s := range Sources {
		if s.Of == snapshots && !r.cfg.Host || s.Of == Interface && r.cfg.Dev == "" || s.Of == device && r.dev == nil ||
			s.Of <= snapshots && r.cfg.Place != nil && *r.cfg.Place > 0 {
			continue
		}
		counts, err := s.Read(r, x)
		if s.Of > snapshots && r.cfg.Place != nil {
			for i := range counts {
				counts[i].Metric = measure.DevMetric(*r.cfg.Place, counts[i].Metric)
			}
		}
		x.take(s.Area, counts, err)
	}
	now, _ := counter.ThreadClock(0)
	x.TookNs, x.CostNs = counter.Monotonic()-x.AtNs, now-cpu
	return x
}

// take takes what a source has read, and what it could not read.
func (x *Reading) take(area string, counts []measure.Count, err error) {
	for _, c := range counts {
		c.Area = area
		x.add(c)
	}
	if err != nil {
		x.Gaps = append(x.Gaps, Gap{area, err})
	}
}

// add takes a counter, whose metric nobody else has: a second one of a name is told from the
// first by a number.
func (x *Reading) add(c measure.Count) {
	name := c.Metric
	for n := 2; x.names[name]; n++ {
		name = fmt.Sprintf("%s_%d", c.Metric, n)
	}
	x.names[name], c.Metric = true, name
	x.Counts = append(x.Counts, c)
}

// CostMetrics describe what reading took.
var CostMetrics = []measure.MetricDoc{
	{Names: "counter_tally_cpu_ns counter_tally_wall_ns counter_rows_cut",
		Units: "ns ns 1", Source: "CLOCK_THREAD_CPUTIME_ID; CLOCK_MONOTONIC; tally",
		Meaning: "what reading the counters of docs/counters.md took, before and after the " +
			"window; of those that moved, how many have no row because there are too many"},
}
