// SPDX-License-Identifier: MIT

package tally

import (
	"maps"
	"runtime"
	"slices"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/nic"
)

// SumArea is an area of which a [Sum] can be made.
type SumArea struct {
	Area string
	// Kernels: the kernel itself counts, and what is read is of that time. Others' counters may
	// come from the NIC later.
	Kernels bool
}

// SumAreas are all of them, the most wanted first. Levels are not added up, nor page pools, which
// come and go.
var SumAreas = []SumArea{{interrupt, true}, {queue, false}, {ethtool, false}}

// ReadArea reads the counters of one area of the interface; nil: it has none.
func (r *Reader) ReadArea(area string) (*Reading, error) {
	if r == nil || r.dev == nil {
		return nil, nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	x := &Reading{AtNs: counter.Monotonic(), names: map[string]bool{}}
	for _, s := range Sources {
		if s.Area != area {
			continue
		}
		counts, err := s.Read(r, x)
		if err != nil && !(Gap{Err: err}).Lacking() {
			return nil, err
		}
		x.take(s.Area, counts, nil)
	}
	if len(x.Counts) == 0 {
		return nil, nil
	}
	x.TookNs, x.poolsAt = counter.Monotonic()-x.AtNs, len(x.Counts)
	return x, nil
}

// Sum adds up what an area counted in several windows.
type Sum struct {
	sum    *Reading // nil: nothing yet
	unlike bool     // counters came, went or fell
}

// Add adds a window.
func (s *Sum) Add(from, to *Reading) {
	if s.sum == nil && to != nil {
		s.sum = to.zero()
	}
	if from == nil || to == nil || s.sum == nil || !from.alike(to) || !to.alike(s.sum) {
		s.unlike = true
		return
	}
	for i := range to.Counts {
		c := &to.Counts[i]
		d, flag := c.Since(from.Counts[i].Value)
		s.unlike = s.unlike || d < 0 && flag != ""
		s.sum.Counts[i].Value += uint64(d)
	}
	for irq, n := range to.IRQs {
		s.sum.IRQs[irq] += n - from.IRQs[irq]
	}
	for i := range to.Stats {
		s.sum.Stats[i].Value += to.Stats[i].Value - from.Stats[i].Value
	}
	for i := range to.QStats {
		for k := range to.QStats[i].Values {
			s.sum.QStats[i].Values[k].Value += to.QStats[i].Values[k].Value - from.QStats[i].Values[k].Value
		}
	}
	s.sum.AtNs += to.AtNs - from.AtNs
}

// zero returns the reading with all counters at 0.
func (x *Reading) zero() *Reading {
	z := &Reading{Counts: slices.Clone(x.Counts), Stats: slices.Clone(x.Stats), IRQs: maps.Clone(x.IRQs),
		poolsAt: x.poolsAt}
	for i := range z.Counts {
		z.Counts[i].Value = 0
	}
	for i := range z.Stats {
		z.Stats[i].Value = 0
	}
	for irq := range z.IRQs {
		z.IRQs[irq] = 0
	}
	for _, q := range x.QStats {
		q.Values = slices.Clone(q.Values)
		for k := range q.Values {
			q.Values[k].Value = 0
		}
		z.QStats = append(z.QStats, q)
	}
	return z
}

// alike reports whether two readings have the same counters.
func (x *Reading) alike(y *Reading) bool {
	return slices.EqualFunc(x.Counts, y.Counts, func(a, b measure.Count) bool { return a.Metric == b.Metric }) &&
		slices.EqualFunc(x.Stats, y.Stats, func(a, b nic.Stat) bool { return a.Name == b.Name }) &&
		slices.EqualFunc(x.QStats, y.QStats, func(a, b nic.QStat) bool {
			return a.Queue == b.Queue && a.RX == b.RX && slices.EqualFunc(a.Values, b.Values,
				func(a, b nic.QValue) bool { return a.Name == b.Name })
		})
}

// Sums returns readings between which the areas counted all that was added; nil: there is nothing.
// broken are the areas of which it is not known: counters came, went or began anew in a window.
func Sums(all map[string]*Sum) (from, to *Reading, broken []string) {
	for _, a := range SumAreas {
		s := all[a.Area]
		switch {
		case s == nil || s.sum == nil && !s.unlike:
			continue
		case s.unlike:
			broken = append(broken, a.Area)
			continue
		}
		if to == nil {
			to = &Reading{}
		}
		to.Counts, to.Stats = append(to.Counts, s.sum.Counts...), append(to.Stats, s.sum.Stats...)
		to.QStats, to.AtNs = append(to.QStats, s.sum.QStats...), max(to.AtNs, s.sum.AtNs)
		if to.IRQs == nil {
			to.IRQs = s.sum.IRQs
		}
	}
	if to != nil {
		to.poolsAt = len(to.Counts)
		from = to.zero()
	}
	return from, to, broken
}
