// SPDX-License-Identifier: MIT

package stat

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Point is where a cell is on a line of one figure over another: what each of its units has.
type Point struct {
	X, Y map[string]float64 // by unit, as [Units.Means] has them
	// FixedX: x was chosen, and held; 0: x is what came out, as uncertain as its units leave it.
	FixedX float64
}

// Box is where the mean of a point is: so certain are its sides.
type Box struct {
	X, XLo, XHi float64
	Y, YLo, YHi float64
	N           int // units
	Known       bool
}

// BoxOf computes where a point is, each of its sides one of a family of intervals that hold
// together ([MeanInterval]).
func BoxOf(p Point, family int) Box {
	b := Box{N: len(p.Y)}
	var okX, okY bool
	b.X, b.XLo, b.XHi, okX = MeanInterval(inOrder(p.X), family)
	b.Y, b.YLo, b.YHi, okY = MeanInterval(inOrder(p.Y), family)
	b.Known = okX && okY
	return b
}

// Band computes the boxes of a line's points that all hold together with 95 %: the line, straight
// from point to point, lies in the hull of each two neighbours' boxes.
func Band(points []Point) []Box {
	family := 0
	for _, p := range points {
		if family++; p.FixedX == 0 {
			family++
		}
	}
	out := make([]Box, len(points))
	for i, p := range points {
		if out[i] = BoxOf(p, family); p.FixedX != 0 { // x has no share of the error, and no width
			out[i].XLo, out[i].XHi = out[i].X, out[i].X
		}
	}
	return out
}

// inOrder returns values in the order of their units: sums do not depend on a map's.
func inOrder(by map[string]float64) []float64 {
	out := make([]float64, 0, len(by))
	for _, k := range slices.Sorted(maps.Keys(by)) {
		out = append(out, by[k])
	}
	return out
}

// Crossing is where two lines cross: over which x one is below the other, and over which the other.
type Crossing struct {
	From, To float64 // the x that both lines have

	// Side is the sign of b - a at each of these: they do not cross there. Unknown: in doubt.
	Side Sign
	At   []CrossingAt
	// First and Last are the signs of b - a at the ends, beyond doubt.
	First, Last Sign
	// Open is whether there is an x, from OpenLo to OpenHi, at which the two cannot be told apart.
	Open           bool
	OpenLo, OpenHi float64
	Units          int  // that both have
	Known          bool // else they are too few: no sign is known, and no interval
}

// CrossingAt is an x at which the means cross.
type CrossingAt struct {
	X, Lo, Hi float64
	Certain   bool // the lines cross between Lo and Hi; else they may not cross at all
	After     Sign // of b - a beyond it, by the means
}

// Cross finds where the lines through the points of a and b cross: points in the order of their x,
// and pairs of lines that are asked about. ok is false where the lines have no x in common.
//
// The difference of the two, of the units that both have, is straight between the x of either's
// points. Each x that came out is uncertain: a tenth of the error for each, and what is said holds
// wherever it is in its interval. The rest is for the difference. That one line is below the other
// at all x is false only if it is false at one of them, which need not be known beforehand: the
// interval of each x alone has to say so. For the same reason the x of a crossing is where that
// interval holds 0. That there is one, and at which x the two differ, has to hold for all x
// together (Bonferroni).
func Cross(a, b []Point, pairs int) (c Crossing, ok bool) {
	t := twoLines{a: a, b: b, units: sharedUnits(a, b)}
	c.Units = len(t.units)
	middle := t.xs(0, 0)
	grid := middle.grid()
	if len(grid) < 2 || c.Units == 0 {
		return c, false
	}
	share := (1 - confidence) / float64(max(1, pairs))
	each := share
	for _, p := range slices.Concat(a, b) {
		if p.FixedX == 0 {
			t.alphaX = share / 10
			each -= t.alphaX
		}
	}
	each = max(each, share/2)
	all := each / float64(len(grid))
	c.From, c.To, c.Known = grid[0], grid[len(grid)-1], c.Units >= MinRuns
	d := t.difference(middle, all)
	for i := 1; i < len(grid); i++ {
		if y0, y1 := d.mid[i-1], d.mid[i]; y0*y1 < 0 || y1 == 0 && y0 != 0 && i+1 < len(grid) {
			x := grid[i-1] + (grid[i]-grid[i-1])*y0/(y0-y1)
			c.At = append(c.At, CrossingAt{X: x, Lo: x, Hi: x, Certain: c.Known, After: -signOf(y0)})
		}
	}
	if !c.Known {
		return c, true
	}
	c.First, c.Last = d.signs()
	c.Side = signOf(d.mid[0])
	for _, of := range t.corners() {
		each, all := t.finely(of, each), t.difference(of, all)
		if len(all.grid) < 2 {
			continue
		}
		at, spans := each.open(), all.open()
		if len(at) > 0 || signOf(each.mid[0]) != c.Side {
			c.Side = Unknown
		}
		first, last := all.signs()
		if first != c.First {
			c.First = Unknown
		}
		if last != c.Last {
			c.Last = Unknown
		}
		for _, s := range spans {
			if !c.Open || s.lo < c.OpenLo {
				c.OpenLo = s.lo
			}
			if !c.Open || s.hi > c.OpenHi {
				c.OpenHi = s.hi
			}
			c.Open = true
		}
		for k := range c.At {
			c.At[k].widen(at, spans)
		}
	}
	return c, true
}

// Finite reports whether all that is known of a crossing is a number: figures near the largest
// there are have no differences.
func (c *Crossing) Finite() bool {
	all := []float64{c.From, c.To, c.OpenLo, c.OpenHi}
	for _, at := range c.At {
		all = append(all, at.X, at.Lo, at.Hi)
	}
	return !slices.ContainsFunc(all, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// widen takes in what one choice of the uncertain x leaves open around a crossing: by the interval
// of each x, and by those of all.
func (at *CrossingAt) widen(each, all []span) {
	nearest := func(spans []span) (s span, ok bool) {
		if len(spans) == 0 {
			return s, false
		}
		far := func(s span) float64 { return max(0, s.lo-at.X, at.X-s.hi) }
		return slices.MinFunc(spans, func(a, b span) int { return cmp.Compare(far(a), far(b)) }), true
	}
	if s, ok := nearest(each); ok {
		at.Lo, at.Hi = min(at.Lo, s.lo), max(at.Hi, s.hi)
	}
	s, ok := nearest(all)
	at.Certain = at.Certain && ok && s.before != Unknown && s.before == -s.after
}

// twoLines are two lines and the units that both have.
type twoLines struct {
	a, b   []Point
	units  []string
	alphaX float64 // the chance with which the interval of an x misses
}

func sharedUnits(a, b []Point) (out []string) {
	all := slices.Concat(a, b)
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	for _, u := range slices.Sorted(maps.Keys(all[0].Y)) {
		if !slices.ContainsFunc(all, func(p Point) bool { _, has := p.Y[u]; return !has }) {
			out = append(out, u)
		}
	}
	return out
}

// abscissas are the x of the points of both lines.
type abscissas struct{ a, b []float64 }

// xs takes the x that were chosen, and of those that came out the mean (0), or the lower (-1) or
// upper (1) end of its interval.
func (t *twoLines) xs(endA, endB int) abscissas {
	of := func(line []Point, end int) []float64 {
		out := make([]float64, len(line))
		for i, p := range line {
			if out[i] = p.FixedX; p.FixedX != 0 {
				continue
			}
			x, lo, hi, _ := meanInterval(inOrder(p.X), t.alphaX)
			if out[i] = x; end < 0 {
				out[i] = lo
			} else if end > 0 {
				out[i] = hi
			}
		}
		for i := 1; i < len(out); i++ { // no interval turns a line back
			out[i] = max(out[i], out[i-1])
		}
		return out
	}
	return abscissas{of(t.a, endA), of(t.b, endB)}
}

// corners are the means of the uncertain x, and all ends of their intervals.
func (t *twoLines) corners() (out []abscissas) {
	for _, endA := range []int{0, -1, 1} {
		for _, endB := range []int{0, -1, 1} {
			out = append(out, t.xs(endA, endB))
		}
	}
	return out
}

// grid is where the difference of the lines may bend, between the ends of what both have.
func (p abscissas) grid() (out []float64) {
	if len(p.a) == 0 || len(p.b) == 0 {
		return nil
	}
	lo, hi := max(p.a[0], p.b[0]), min(p.a[len(p.a)-1], p.b[len(p.b)-1])
	for _, x := range slices.Concat(p.a, p.b) {
		if x >= lo && x <= hi {
			out = append(out, x)
		}
	}
	slices.Sort(out)
	return slices.CompactFunc(out, func(x, y float64) bool { return math.Abs(y-x) <= 1e-9*math.Abs(y) })
}

// band is the difference of two lines with its interval, straight between the x of its grid.
type band struct{ grid, mid, lo, hi []float64 }

// difference computes b - a, with intervals that miss with the chance alpha.
func (t *twoLines) difference(at abscissas, alpha float64) band {
	return t.on(at.grid(), at, alpha)
}

// parts is into how many a segment is cut, to find where the interval of each x holds 0: in the
// middle of a segment it is narrower than at its ends.
const parts = 8

// finely computes the same between the x of the points, too.
func (t *twoLines) finely(at abscissas, alpha float64) band {
	var fine []float64
	for i, x := range at.grid() {
		if i > 0 {
			from := fine[len(fine)-1]
			for k := range parts - 1 {
				fine = append(fine, from+(x-from)*float64(k+1)/parts)
			}
		}
		fine = append(fine, x)
	}
	return t.on(fine, at, alpha)
}

func (t *twoLines) on(grid []float64, at abscissas, alpha float64) band {
	d := band{grid: grid}
	for _, x := range d.grid {
		v := make([]float64, len(t.units))
		for i, u := range t.units {
			v[i] = along(t.b, at.b, u, x) - along(t.a, at.a, u, x)
		}
		m, lo, hi, _ := meanInterval(v, alpha)
		d.mid, d.lo, d.hi = append(d.mid, m), append(d.lo, lo), append(d.hi, hi)
	}
	return d
}

// along computes a unit's y on a line.
func along(line []Point, xs []float64, unit string, x float64) float64 {
	for i := 1; i < len(xs); i++ {
		if x > xs[i] && i+1 < len(xs) || xs[i] == xs[i-1] {
			continue
		}
		w := (x - xs[i-1]) / (xs[i] - xs[i-1])
		return (1-w)*line[i-1].Y[unit] + w*line[i].Y[unit]
	}
	return line[len(line)-1].Y[unit]
}

// span is where the band holds 0, and on which side it is before and after.
type span struct {
	lo, hi        float64
	before, after Sign // Unknown: the lines begin or end there
}

// open lists where the band holds 0.
func (d band) open() (out []span) {
	slack := 1e-9 * (d.grid[len(d.grid)-1] - d.grid[0])
	for i := 1; i < len(d.grid); i++ {
		x0, x1 := d.grid[i-1], d.grid[i]
		lo, hi := x0, x1
		for _, y := range [][2]float64{{d.lo[i-1], d.lo[i]}, {-d.hi[i-1], -d.hi[i]}} { // each is to be <= 0
			at := x0 + (x1-x0)*y[0]/(y[0]-y[1])
			switch {
			case y[0] > 0 && y[1] > 0:
				lo, hi = x1+1, x0-1
			case y[0] > 0:
				lo = max(lo, at)
			case y[1] > 0:
				hi = min(hi, at)
			}
		}
		if hi < lo-slack {
			continue
		}
		if hi = max(lo, hi); len(out) > 0 && lo-out[len(out)-1].hi <= slack {
			out[len(out)-1].hi = hi
			continue
		}
		out = append(out, span{lo: lo, hi: hi})
	}
	for i := range out {
		from, to := d.grid[0], d.grid[len(d.grid)-1]
		if i > 0 {
			from = out[i-1].hi
		}
		if i+1 < len(out) {
			to = out[i+1].lo
		}
		if out[i].lo > from+slack {
			out[i].before = signOf(d.at((from + out[i].lo) / 2))
		}
		if out[i].hi < to-slack {
			out[i].after = signOf(d.at((to + out[i].hi) / 2))
		}
	}
	return out
}

// signs returns the sides on which the band is at its ends.
func (d band) signs() (first, last Sign) {
	end := len(d.grid) - 1
	first, last = signOf(d.mid[0]), signOf(d.mid[end])
	if d.lo[0] <= 0 && d.hi[0] >= 0 {
		first = Unknown
	}
	if d.lo[end] <= 0 && d.hi[end] >= 0 {
		last = Unknown
	}
	return first, last
}

// at computes the middle of the band.
func (d band) at(x float64) float64 {
	i := 1
	for i+1 < len(d.grid) && x > d.grid[i] {
		i++
	}
	w := (x - d.grid[i-1]) / (d.grid[i] - d.grid[i-1])
	return (1-w)*d.mid[i-1] + w*d.mid[i]
}

func signOf(v float64) Sign {
	switch {
	case v > 0:
		return Greater
	case v < 0:
		return Less
	}
	return Unknown
}
