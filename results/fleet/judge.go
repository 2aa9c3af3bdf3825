// SPDX-License-Identifier: MIT

package fleet

import (
	"math"
	"slices"

	"github.com/zcbench/zcbench/results/stat"
)

// judge tests a fleet. Whatever is tested is one family: in at most 5 % of the fleets of which
// nothing is true, anything is named.
type judge struct {
	f     *Fleet
	tests []test

	pairs []point // the pairs by all their cells; only those with figures of enough runs
	at    map[*pair]int
	units []unit

	hostsOf [2][][]int // pairs of the hosts of each role, see [Fleet.surveys]
	found   []*fact
}

// test is one of the family.
type test struct {
	p       float64
	decided func(adjusted float64)
}

// point is a figure that is held against those of the others.
type point struct {
	pair  *pair
	to    **off
	parts []stat.Part // what it is made of
	y     float64     // its logarithm
	se2   float64     // variance that its runs leave it
	runs  int         // of the part that has fewest
}

func newJudge(f *Fleet) *judge { return &judge{f: f, at: map[*pair]int{}} }

func newPoint(p *pair, to **off, parts []stat.Part) point {
	x := point{pair: p, to: to, parts: parts, y: stat.MedianOf(parts), runs: math.MaxInt}
	weights := 0.0
	for _, part := range parts {
		n := len(part.Sorted)
		x.runs = min(x.runs, n)
		weights += part.Weight
		if n > 1 {
			sd := deviation(part.Sorted)
			x.se2 += part.Weight * part.Weight * math.Pi / 2 * sd * sd / float64(n)
		}
	}
	x.se2 /= weights * weights
	return x
}

func deviation(v []float64) float64 {
	mean, ss := 0.0, 0.0
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		ss += (x - mean) * (x - mean)
	}
	return math.Sqrt(ss / float64(len(v)-1))
}

// columns holds each cell of each pair, and each pair as a whole, against the other pairs.
func (j *judge) columns() {
	whole := make(map[*pair][]stat.Part)
	spreads := make([]float64, len(j.f.Cells))
	points := make([][]point, len(j.f.Cells))
	for _, p := range j.f.Pairs {
		for i := range p.Figures {
			if c := &p.Figures[i]; c.N > 0 {
				points[c.Cell] = append(points[c.Cell], newPoint(p, &c.Off, []stat.Part{{Sorted: c.logs, Weight: 1}}))
			}
		}
	}
	middles := make([]float64, len(j.f.Cells))
	for n := range points {
		middles[n], spreads[n] = j.column(&j.f.Cells[n], points[n])
		j.against(points[n])
	}
	usual := typical(spreads)
	for n := range points {
		// A cell that all pairs run alike, at the link's speed, must not hide the others.
		weight := 1.0
		if s := max(spreads[n], usual); s > 0 {
			weight = 1 / (s * s)
		}
		for _, x := range points[n] {
			if len(points[n]) > 1 {
				whole[x.pair] = append(whole[x.pair], stat.Part{Sorted: shifted(x.parts[0].Sorted, middles[n]),
					Weight: weight})
			}
		}
	}
	for _, p := range j.f.Pairs {
		if parts := enough(whole[p]); len(parts) > 0 {
			j.pairs = append(j.pairs, newPoint(p, &p.Overall, parts))
		}
	}
	j.against(j.pairs)
	j.pairs = slices.DeleteFunc(j.pairs, func(x point) bool { return x.runs < stat.MinRuns })
	for i, x := range j.pairs {
		j.at[x.pair] = i
	}
}

// column sums up a cell, and returns the middle of the pairs' logarithms and how far they are
// apart.
func (j *judge) column(c *column, points []point) (middle, spread float64) {
	c.Pairs = len(points)
	if c.Pairs == 0 {
		return 0, 0
	}
	y := make([]float64, len(points))
	for i := range points {
		y[i] = points[i].y
	}
	o := stat.NewOthers(y)
	c.Median = new(math.Exp(o.Center))
	if o.N > 1 {
		c.Spread = new(o.Scale)
	}
	return o.Center, o.Scale
}

// enough selects the parts with enough runs for a verdict; all, where none has.
func enough(parts []stat.Part) []stat.Part {
	var out []stat.Part
	for _, p := range parts {
		if len(p.Sorted) >= stat.MinRuns {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return parts
	}
	return out
}

func shifted(v []float64, by float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = x - by
	}
	return out
}

// typical computes the median of the values above 0; 0 if there are none.
func typical(v []float64) float64 {
	var some []float64
	for _, x := range v {
		if x > 0 {
			some = append(some, x)
		}
	}
	if len(some) == 0 {
		return 0
	}
	return stat.Median(some)
}

// manyOthers is from how many on the spread of all stands for that of all but one, which takes
// long.
const manyOthers = 100

// against holds each point against the others. Nobody is his own measure.
func (j *judge) against(points []point) {
	if len(points) < 2 {
		return
	}
	order := make([]int, len(points))
	noise := make([]float64, 0, len(points))
	for i, x := range points {
		order[i] = i
		noise = append(noise, x.se2)
	}
	slices.SortStableFunc(order, func(a, b int) int { return compareFloat(points[a].y, points[b].y) })
	sorted := make([]float64, len(points))
	for i, n := range order {
		sorted[i] = points[n].y
	}
	se2 := typical(noise)
	all := stat.NewOthers(sorted)
	others := make([]float64, len(points)-1)
	for i, n := range order {
		copy(others, sorted[:i])
		copy(others[i:], sorted[i+1:])
		o := stat.Others{N: len(others), Center: stat.Median(others), Scale: all.Scale}
		if o.N <= manyOthers {
			o = stat.NewOthers(others)
		}
		// They cannot be less apart than their runs make them, and who varies more than they do
		// is further off by chance.
		o.Scale = max(o.Scale, math.Sqrt(se2))
		variance := 1.0
		if more := points[n].se2 - se2; more > 0 && o.Scale > 0 {
			variance += more / (o.Scale * o.Scale)
		}
		j.off(&points[n], o, variance, others)
	}
}

func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// off writes down how far a point is from the others.
func (j *judge) off(x *point, o stat.Others, variance float64, sorted []float64) {
	off := &off{Share: math.Expm1(x.y - o.Center), Others: o.N, Runs: x.runs, Verdict: unsure}
	*x.to = off
	lo, hi, ok := stat.Apart(x.parts, sorted)
	switch {
	case x.runs < stat.MinRuns:
		off.Verdict = tooFewRuns
		return
	case !ok:
		off.Verdict = tooFewPairs
		return
	}
	off.Lo, off.Hi, off.P = new(math.Expm1(lo)), new(math.Expm1(hi)), new(o.P(x.y, variance))
	j.tests = append(j.tests, test{*off.P, func(adjusted float64) {
		off.Adjust = &adjusted
		if adjusted < stat.Alpha && (*off.Hi < 0 || *off.Lo > 0) {
			off.Verdict = j.verdict(off.Share)
		}
	}})
}

func (j *judge) verdict(share float64) verdict {
	if share > 0 == j.f.HigherWins {
		return Better
	}
	return Worse
}

// decide corrects all that was tested for how much that is.
func (j *judge) decide() {
	p := make([]float64, len(j.tests))
	for i := range j.tests {
		p[i] = j.tests[i].p
	}
	j.f.Tests = len(p)
	for i, adjusted := range stat.Holm(p) {
		j.tests[i].decided(adjusted)
	}
	j.nameHosts()
	j.nameFacts()
	j.explain()
}
