// SPDX-License-Identifier: MIT

package power

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/zcbench/zcbench/machine/counter"
)

// Where loads take turns, a meter can tell whose turn it was only if it measures anew often enough.
const (
	// PeriodsOfTurn is how many of a meter's periods a turn has at least.
	PeriodsOfTurn = 10
	// LeastTurn is the shortest turn whose power can be told: of a counter that is read at the
	// turn's edges, what it does in the milliseconds around them is in it.
	LeastTurn = time.Second
)

// How a source's period is measured.
const (
	counterPoll  = 200 * time.Microsecond // a counter is read so often
	periodsSeen  = 20                     // until it has changed so many times,
	fewPeriods   = 4                      // and at least so many,
	counterWatch = 3 * time.Second        // or that long
	meterWatches = 40                     // of a sensor: so many readings, as often as it is worth it,
	longestWatch = 15 * time.Second       // and no longer
)

// period measures how often a source has a new value: the median of the times between two changes,
// of several channels the longest. 0: it changed too seldom to tell, or could not be read.
func period(src Source) time.Duration {
	info := src.Info()
	if _, later := src.(importer); later {
		return 0
	}
	poll, limit := counterPoll, counterWatch
	if !(Trace{Info: info}).counts() || !info.Quick {
		poll = max(info.MinInterval, LeastInterval)
		limit = min(meterWatches*poll, longestWatch)
	}
	n := len(info.Channels)
	last, since, between := make([]int64, n), make([]int64, n), make([][]int64, n)
	v := make([]int64, n)
	for end, first := counter.Monotonic()+limit.Nanoseconds(), true; counter.Monotonic() < end; time.Sleep(poll) {
		for i := range v {
			v[i] = none
		}
		ctx, cancel := context.WithTimeout(context.Background(), readTime)
		err := src.Read(ctx, v)
		cancel()
		if err != nil {
			return 0
		}
		now, enough := counter.Monotonic(), true
		for i := range v {
			if !first && v[i] != last[i] && v[i] != none {
				if since[i] != 0 {
					between[i] = append(between[i], now-since[i])
				}
				since[i] = now
			}
			last[i] = v[i]
			enough = enough && (info.Channels[i].Part || len(between[i]) >= periodsSeen)
		}
		first = false
		if enough {
			break
		}
	}
	longest := time.Duration(0)
	for i, c := range info.Channels {
		switch b := between[i]; {
		case c.Part:
		case len(b) < fewPeriods:
			return 0
		default:
			slices.Sort(b)
			longest = max(longest, time.Duration(b[len(b)/2]))
		}
	}
	return longest
}

// StartTurns samples as [Start] does, after it has measured how often each source has a new value.
func StartTurns(sources []Source, interval time.Duration) *Sampler {
	periods := make([]time.Duration, len(sources))
	for i, s := range sources {
		periods[i] = period(s)
	}
	s := Start(sources, interval)
	for i, r := range s.readers {
		r.mu.Lock()
		r.trace.Period = periods[i]
		r.mu.Unlock()
	}
	return s
}

// Periods returns for how long a reading has something of what was before it, in the order of the
// sources: the period that [StartTurns] measured, or the time over which the meter averages, if
// that is longer; 0: not known.
func (s *Sampler) Periods() (all []time.Duration) {
	for _, r := range s.readers {
		r.mu.Lock()
		period := r.trace.Period
		if period > 0 && !r.trace.counts() {
			period = max(period, r.trace.Info.Averages)
		}
		all = append(all, period)
		r.mu.Unlock()
	}
	return all
}

// edges is what turns are longer than their readings at most: a turn's part that counts ends early.
const edges = 10 * time.Millisecond

// LeastTurnOf returns the shortest turn that a meter of this period can tell.
func LeastTurnOf(period time.Duration) time.Duration {
	if least := PeriodsOfTurn * period; least > LeastTurn-edges {
		return (least + 2*edges - 1).Truncate(edges)
	}
	return LeastTurn
}

// FitsTurn refuses turns that are too short for a meter whose period was measured.
func FitsTurn(name string, period, turn time.Duration) error {
	switch {
	case period <= 0:
		return fmt.Errorf("power source %s: it did not show how often it measures, so that it cannot tell whose "+
			"turn it was", name)
	case turn < LeastTurnOf(period):
		return fmt.Errorf("power source %s measures every %v, or averages over that: it can tell whose turn it was "+
			"only in turns of %v and more", name, period.Round(10*time.Microsecond), LeastTurnOf(period))
	}
	return nil
}

// Now reads the sources that are counters and can be read at once, at the edge of a turn.
func (s *Sampler) Now() {
	for _, r := range s.readers {
		if r.quick {
			r.read(context.Background())
		}
	}
}

// inTurns averages what f computes for a window over several, each by the time that its readings
// cover. A meter that averages, or measures seldom, has something of the turn before at the
// beginning of each: its first period is left out.
func (t Trace) inTurns(turns []Window, f func(t *Trace, fromNs, toNs int64) (mean, error)) (sum mean, err error) {
	t.before, t.after = 0, 0 // there are other loads around
	late := int64(0)
	if !t.counts() {
		late = max(t.Period, t.Info.Averages).Nanoseconds()
	}
	var ns, squares, straight float64
	for i, w := range turns {
		if w.ToNs-w.FromNs < PeriodsOfTurn*late {
			return mean{}, &missing{fmt.Sprintf("turns of %s are too short for it", seconds(w.ToNs-w.FromNs))}
		}
		m, err := f(&t, w.FromNs+late, w.ToNs)
		if err != nil {
			return mean{}, err
		}
		d := float64(m.Covered)
		ns += d
		sum.Watts += m.Watts * d
		squares, straight = squares+m.U*m.U*d*d, straight+m.Straight*m.Straight*d*d
		if t.counts() { // two readings may be too close to each other to tell power
			m.Min, m.Max = m.Watts, m.Watts
		}
		if i == 0 {
			sum.Min, sum.Max = m.Min, m.Max
		}
		sum.Min, sum.Max, sum.StdDev = min(sum.Min, m.Min), max(sum.Max, m.Max), max(sum.StdDev, m.StdDev)
		sum.N, sum.Fresh, sum.Covered = sum.N+m.N, sum.Fresh+m.Fresh, sum.Covered+m.Covered
		sum.Effective += m.Effective
	}
	if ns == 0 {
		return mean{}, &missing{"no turn counts"}
	}
	sum.Watts, sum.U, sum.Straight = sum.Watts/ns, math.Sqrt(squares)/ns, math.Sqrt(straight)/ns
	return sum, nil
}

// load averages the sum of the channels over the window, or over the turns in it.
func (t *Trace) load(at Times) (mean, error) {
	if len(at.Turns) == 0 {
		return t.Sum(at.Load.FromNs, at.Load.ToNs)
	}
	return t.inTurns(at.Turns, (*Trace).Sum)
}

// loadOf does so for one channel.
func (t *Trace) loadOf(c int, at Times) (mean, error) {
	if len(at.Turns) == 0 {
		return t.Mean(c, at.Load.FromNs, at.Load.ToNs)
	}
	return t.inTurns(at.Turns, func(t *Trace, fromNs, toNs int64) (mean, error) { return t.Mean(c, fromNs, toNs) })
}
