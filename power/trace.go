// SPDX-License-Identifier: MIT

package power

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// sample is one reading of a source.
type sample struct {
	AtNs int64   // CLOCK_MONOTONIC, middle of the reading
	V    []int64 // one per channel: microwatts or microjoules, or None
	// gap: no interval may span the time between the sample before and this one.
	Gap bool
	// U is what the instrument itself says of this reading's uncertainty, as a
	// share of it; 0: it says nothing.
	U float64
}

// Trace is what a source said over time.
type Trace struct {
	Info     info
	Interval time.Duration // between readings, as asked for
	Period   time.Duration // between new values, where loads take turns; 0: not measured
	Samples  []sample      // in order of time
	Failures []failure     // readings that failed, the newest last
	Failed   int           // how many since the start
	// Slow says how the record of an earlier run showed that the source does not follow the load;
	// empty: none did.
	Slow string

	// before and after are how far outside of an interval the conditions are
	// still those inside, nanoseconds: there a sensor's nearest reading serves
	// for the edge.
	before, after int64
}

// Around cuts the trace to what was read from shortly before a run's windows until shortly after
// them.
func (t Trace) Around(at Times) Trace {
	all, slack := at.All(), max(at.GuardNs, int64(time.Second), 2*int64(t.Interval)) // the rest's guard, too
	t.Samples = t.Samples[indexAt(t.Samples, all.FromNs-slack):indexAt(t.Samples, all.ToNs+slack+1)]
	return t
}

// failure is a reading that failed.
type failure struct {
	AtNs int64
	// UntilNs is set where nothing could be read from AtNs until then, as of a
	// log with a line that is none.
	UntilNs int64
	Why     string // empty where there were many since
}

// in reports whether the failure touches an interval.
func (f failure) in(fromNs, toNs int64) bool {
	return f.AtNs <= toNs && max(f.AtNs, f.UntilNs) >= fromNs
}

// mean is the mean power of a channel, or of a source, in an interval.
type mean struct {
	Watts   float64
	N       int           // readings in the interval
	Covered time.Duration // from the first reading to the last
	StdDev  float64       // of the readings, watts; 0 for an energy counter
	// U is the standard uncertainty that their scatter leaves, watts, and Effective
	// how many independent readings they are worth. Of a counter, whose mean is
	// exact, U is what its own period and step leave of the edges.
	U, Effective float64
	Straight     float64 // U of what is left beside a straight line through them
	Min, Max     float64 // of the readings, or between two of a counter
	Fresh        int     // readings of a power channel that were not the same as the one before
}

// missing says why there is no mean.
type missing struct{ Why string }

func (m *missing) Error() string { return m.Why }

// Limits of what counts as measured.
const (
	leastCovered = 0.8 // of the interval must lie between a counter's first and last reading
	mostMissed   = 3.5 // intervals without a reading are a source that stopped answering
)

// mean averages channel c over [fromNs, toNs]. Its error is a [*Missing].
func (t *Trace) Mean(c int, fromNs, toNs int64) (mean, error) {
	counts := t.Info.Channels[c].Kind == energy
	in := t.around(c, fromNs, toNs)
	if err := t.check(in, fromNs, toNs, counts); err != nil {
		return mean{}, err
	}
	if in = clip(in, c, fromNs, toNs); counts {
		m := energyMean(in, c)
		if m.Watts == 0 {
			return mean{}, &missing{fmt.Sprintf("the counter %s did not move in %s: it does not count%s",
				t.Info.Channels[c].Name, seconds(int64(m.Covered)), withoutMemory(t.Info.Channels[c].Name))}
		}
		m.U, m.Effective = t.edges(c, m), float64(m.N)
		return m, nil
	}
	m := powerMean(in, c)
	last := int64(none)
	for _, s := range t.inside(c, fromNs, toNs) {
		if s.V[c] != last {
			m.Fresh++
		}
		last = s.V[c]
	}
	w := wattsOf(in, c)
	m.U, m.Effective = scatter(w)
	m.Straight, _ = scatter(straightened(w))
	return m, nil
}

// withoutMemory advises how to measure without a zone of memory that firmware has switched off; ""
// for any other.
func withoutMemory(channel string) string {
	if strings.HasSuffix(channel, "_dram") {
		return "; measure only the packages, on both hosts: rapl?scope=package"
	}
	return ""
}

// leastWatts is less than a running machine can draw: the meter has another unit, or measures
// something else. A board of the smallest kind draws half a watt.
const leastWatts = 0.1

// edges computes the uncertainty that a counter which grows in steps, and at its own times, leaves
// of the power between two readings: at each edge anything between none and all of a step and of
// what is drawn in its period.
func (t *Trace) edges(c int, m mean) float64 {
	step := math.Hypot(t.Info.Channels[c].Resolution, m.Watts*t.Info.Averages.Seconds())
	return step * math.Sqrt(2./12) / m.Covered.Seconds()
}

func wattsOf(in []sample, c int) []float64 {
	out := make([]float64, len(in))
	for i, s := range in {
		out[i] = float64(s.V[c]) / 1e6
	}
	return out
}

// Sum averages the sum of the channels that are no Part.
func (t *Trace) Sum(fromNs, toNs int64) (mean, error) {
	if no := t.Info.NoSum; no != nil {
		return mean{}, &missing{no.Why + "; " + no.How}
	}
	if err := t.twins(fromNs, toNs); err != nil {
		return mean{}, err
	}
	var sum mean
	n := 0
	for c, ch := range t.Info.Channels {
		if ch.Part {
			continue
		}
		m, err := t.Mean(c, fromNs, toNs)
		if err != nil {
			return mean{}, err
		}
		sum.Watts, sum.Min, sum.Max = sum.Watts+m.Watts, sum.Min+m.Min, sum.Max+m.Max
		sum.StdDev = math.Hypot(sum.StdDev, m.StdDev)
		sum.Straight += m.Straight
		sum.U += m.U // they rise and fall together: two supplies share one load
		if n == 0 || m.N < sum.N {
			sum.N, sum.Covered = m.N, m.Covered
		}
		if n == 0 || m.Effective < sum.Effective {
			sum.Effective = m.Effective
		}
		sum.Fresh = max(sum.Fresh, m.Fresh)
		n++
	}
	switch whole := rank[t.Info.Scope] >= rank[scopeBoard]; {
	case n == 0:
		return mean{}, &missing{"none of its channels stands for it"}
	case whole && sum.Watts < leastWatts:
		return mean{}, &missing{fmt.Sprintf("it reads %s W, and no machine that runs draws so little: its unit "+
			"is another, or it is no meter of the whole", formatWatts(sum.Watts))}
	}
	return sum, nil
}

// mostTwins is how many readings two sensors may have in common without being taken
// for one.
const mostTwins = 10

// twins finds two sensors of the sum whose readings are the same, again and again while
// they change: both show one meter, and to add them would count it twice.
func (t *Trace) twins(fromNs, toNs int64) error {
	for a, x := range t.Info.Channels {
		for b, y := range t.Info.Channels[:a] {
			if x.Part || y.Part || x.Kind != power || y.Kind != power {
				continue
			}
			same, moved, last := 0, false, int64(none)
			for _, s := range t.inside(a, fromNs, toNs) {
				if s.V[a] != s.V[b] {
					same = 0
					break
				}
				moved = moved || last != none && s.V[a] != last
				same, last = same+1, s.V[a]
			}
			if same >= mostTwins && moved {
				return &missing{fmt.Sprintf("%s and %s always read the same: they are one meter, which would be "+
					"counted twice; name one of them", y.Name, x.Name)}
			}
		}
	}
	return nil
}

// inside selects the samples of an interval in which the channel has a value.
func (t *Trace) inside(c int, fromNs, toNs int64) []sample {
	var in []sample
	gap := false
	for _, s := range t.Samples {
		if s.AtNs > toNs {
			break
		}
		if s.AtNs < fromNs {
			continue
		}
		gap = gap || s.Gap
		if s.V[c] != none {
			s.Gap = gap && len(in) > 0 // a gap before the first one is outside
			in = append(in, s)
			gap = false
		}
	}
	return in
}

// around selects the samples inside and the nearest on either side: a sensor's where it is no
// further off than a reading and a half, a counter's in all of the guard.
func (t *Trace) around(c int, fromNs, toNs int64) []sample {
	near := t.Interval.Nanoseconds() * 3 / 2
	if t.Info.Channels[c].Kind == energy {
		near = max(t.before, t.after)
	}
	in := t.inside(c, fromNs-min(near, t.before), toNs+min(near, t.after))
	for len(in) > 1 && in[1].AtNs <= fromNs {
		in = in[1:]
	}
	for n := len(in); n > 1 && in[n-2].AtNs >= toNs; n-- {
		in = in[:n-1]
	}
	return in
}

// clip moves the outermost samples to the edges, along the line to the next.
func clip(in []sample, c int, fromNs, toNs int64) []sample {
	in = slices.Clone(in)
	edge := func(at int64, a, b sample) sample {
		share := float64(at-a.AtNs) / float64(b.AtNs-a.AtNs)
		v := slices.Clone(a.V)
		v[c] = a.V[c] + int64(share*float64(b.V[c]-a.V[c]))
		return sample{AtNs: at, V: v}
	}
	if n := len(in); in[n-1].AtNs > toNs && in[n-2].AtNs < toNs {
		in[n-1] = edge(toNs, in[n-2], in[n-1])
	}
	if in[0].AtNs < fromNs && in[1].AtNs > fromNs {
		in[0] = edge(fromNs, in[0], in[1])
	}
	return in
}

// check refuses samples that do not stand for the interval.
func (t *Trace) check(in []sample, fromNs, toNs int64, counts bool) error {
	length := toNs - fromNs
	because := ""
	for _, f := range t.Failures {
		if f.in(fromNs, toNs) && f.Why != "" {
			because = ": " + f.Why
		}
	}
	if len(in) < 2 {
		return &missing{readings(len(in)) + " in " + seconds(length) + because}
	}
	if slices.ContainsFunc(in, func(s sample) bool { return s.Gap }) {
		return &missing{"energy was lost between two readings" + because}
	}
	first, last := max(in[0].AtNs, fromNs), min(in[len(in)-1].AtNs, toNs)
	longest := int64(0)
	for i := 1; i < len(in); i++ {
		longest = max(longest, in[i].AtNs-in[i-1].AtNs)
	}
	longest = max(longest, first-fromNs, toNs-last)
	// A counter loses nothing between two readings; a sensor does.
	if !counts && longest > t.silence() {
		return &missing{"it did not answer for " + seconds(longest) + because}
	}
	// At an edge a sensor may lack one reading.
	slack := t.Interval.Nanoseconds() * 3 / 2
	enough := first-fromNs <= slack && toNs-last <= slack && last > first
	if counts || t.Interval == 0 {
		enough = float64(last-first) >= leastCovered*float64(length)
	}
	if !enough {
		return &missing{"its readings cover " + seconds(last-first) + " of " + seconds(length) + " only" + because}
	}
	return nil
}

// silence returns how long a sensor may say nothing, nanoseconds.
func (t *Trace) silence() int64 {
	return max(int64(mostMissed*float64(t.Interval)), int64(time.Second))
}

func energyMean(in []sample, c int) mean {
	a, b := in[0], in[len(in)-1]
	m := mean{N: len(in), Covered: time.Duration(b.AtNs - a.AtNs), Min: math.Inf(1), Max: math.Inf(-1)}
	m.Watts = watts(b.V[c]-a.V[c], b.AtNs-a.AtNs)
	for i := 1; i < len(in); i++ {
		w := watts(in[i].V[c]-in[i-1].V[c], in[i].AtNs-in[i-1].AtNs)
		m.Min, m.Max = min(m.Min, w), max(m.Max, w)
	}
	return m
}

// watts of microjoules over nanoseconds.
func watts(uj, ns int64) float64 { return float64(uj) * 1e3 / float64(ns) }

// powerMean weighs each reading by the time around it (trapezoids), so that
// readings that came unevenly do not shift the mean.
func powerMean(in []sample, c int) mean {
	a, b := in[0], in[len(in)-1]
	m := mean{N: len(in), Covered: time.Duration(b.AtNs - a.AtNs), Min: math.Inf(1), Max: math.Inf(-1)}
	var area, sum, squares float64
	for i, s := range in {
		w := float64(s.V[c]) / 1e6
		sum += w
		m.Min, m.Max = min(m.Min, w), max(m.Max, w)
		if i > 0 {
			area += (w + float64(in[i-1].V[c])/1e6) / 2 * float64(s.AtNs-in[i-1].AtNs)
		}
	}
	m.Watts = area / float64(b.AtNs-a.AtNs)
	for _, s := range in {
		d := float64(s.V[c])/1e6 - sum/float64(len(in))
		squares += d * d
	}
	m.StdDev = math.Sqrt(squares / float64(len(in)-1))
	return m
}

func seconds(ns int64) string {
	return time.Duration(ns).Round(time.Millisecond).String()
}

func readings(n int) string {
	switch n {
	case 0:
		return "no reading"
	case 1:
		return "1 reading"
	}
	return "too few readings"
}
