// SPDX-License-Identifier: MIT

package report

import (
	"fmt"
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
		pad := (hi - lo) * .06
		if hi-lo < 1e-9*hi || pad == 0 { // no drawing tells them apart
			pad = max(hi*.05, 1e-9)
		}
		if lo < .5*hi {
			return 0, hi + pad
		}
		return lo - pad, hi + pad
	}
	x.lo, x.hi = span(func(m *mark) *stat.Summary { return m.x })
	y.lo, y.hi = span(func(m *mark) *stat.Summary { return m.y })
	x.from, x.to = 46, c.width-14
	y.from, y.to = c.height-42, 22
	return x, y
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

func (c *canvas) grid() {
	p := c.b
	p.WriteString(`<g class="grid">`)
	for _, v := range steps(c.y.lo, c.y.hi, int(c.height/55)) {
		y := c.y.at(v)
		fmt.Fprintf(p, `<path d="M%s %sH%s"/><text x="%s" y="%s" text-anchor="end">%s</text>`, px(c.x.from), px(y),
			px(c.x.to), px(c.x.from-6), px(y+3.8), short(v))
	}
	for _, v := range steps(c.x.lo, c.x.hi, int(c.width/80)) {
		x := c.x.at(v)
		fmt.Fprintf(p, `<path d="M%s %sV%s"/><text x="%s" y="%s" text-anchor="middle">%s</text>`, px(x), px(c.y.from),
			px(c.y.to), px(x), px(c.y.from+16), short(v))
	}
	fmt.Fprintf(p, `<text class="axis" x="2" y="12">throughput, Gbit/s%s</text><text class="axis" x="%s" y="%s" `+
		`text-anchor="end">%s%s</text></g>`, c.y.note(), px(c.x.to), px(c.y.from+34), c.axis(), c.x.note())
}
