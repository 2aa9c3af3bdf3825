// SPDX-License-Identifier: MIT

package report

import (
	"math"

	"github.com/zcbench/zcbench/results/stat"
)

// scale takes values to places.
type scale struct{ lo, hi, from, to float64 }

func (s scale) at(v float64) float64 { return s.from + (v-s.lo)/(s.hi-s.lo)*(s.to-s.from) }

// scales begin at 0 where that does not crowd the marks.
func (c *canvas) scales() (x, y scale) {
	span := func(of func(*mark) *stat.Summary) (lo, hi float64) {
		lo, hi = math.Inf(1), math.Inf(-1)
		for i := range c.marks {
			s := of(&c.marks[i])
			lo, hi = min(lo, s.Min), max(hi, s.Max)
		}
		return room(lo, hi)
	}
	x.lo, x.hi = span(func(m *mark) *stat.Summary { return m.x })
	y.lo, y.hi = span(func(m *mark) *stat.Summary { return m.y })
	c.place(&x, &y)
	return x, y
}

// room extends an axis beyond its values, and to 0 where that does not crowd them.
func room(lo, hi float64) (from, to float64) {
	pad := (hi - lo) * .06
	if hi-lo < 1e-9*hi || pad == 0 { // no drawing tells them apart
		pad = max(hi*.05, 1e-9)
	}
	if lo < .5*hi {
		return 0, hi + pad
	}
	return lo - pad, hi + pad
}

// note warns that an axis does not begin at 0.
func (s scale) note() string {
	if s.lo == 0 {
		return ""
	}
	return " (not from 0)"
}

// steps divides an axis at round values, about so many.
func steps(lo, hi float64, about int) (out []float64) {
	raw := (hi - lo) / float64(about)
	unit := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, k := range []float64{1, 2, 5, 10} {
		if k*unit >= raw {
			unit *= k
			break
		}
	}
	first := math.Ceil(lo / unit)
	for i := range 2*about + 1 { // where hi is next to lo, adding 1 may change nothing
		v := (first + float64(i)) * unit
		if !(v <= hi) {
			break
		}
		if n := len(out); n == 0 || v > out[n-1] {
			out = append(out, v)
		}
	}
	return out
}
