// SPDX-License-Identifier: MIT

package report

import (
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zcbench/zcbench/internal/plaintext"
)

// Scatter is a drawing of points of several series over two axes, for what is not of one journal.
type Scatter struct {
	Title, Caption string
	XText, YText   string
	Series         []Series // those beyond [MostSeries] are left out, and Caption has to say so
}

// Series is a kind of points, and its name.
type Series struct {
	Name   string
	Line   bool // joins its points, which are in the order of x
	Points []Spot
}

// Spot is a point: with its interval where it has one.
type Spot struct {
	X, Y   float64
	XI, YI *[2]float64
	Hollow bool   // it is a bound
	Note   string // for whom who points at it
}

// MostSeries is how many a drawing has.
const MostSeries = 40

// Draw renders it as a file.
func (s *Scatter) Draw() []byte {
	all := s.Series[:min(len(s.Series), MostSeries)]
	p := newPlate(fileWidth, fileHeight)
	scatterScales(&p, all)
	p.grid(s.XText, s.YText)
	tags := make([]string, len(all))
	for i := range all {
		if tags[i] = plaintext.Line(all[i].Name); utf8.RuneCountInString(tags[i]) > longTag {
			tags[i] = strconv.Itoa(i + 1)
		}
		all[i].draw(&p, i)
	}
	p.b.WriteString(`<g class="names">`)
	for i := range all {
		for _, at := range slices.Backward(all[i].Points) {
			color, _ := look(i)
			if p.put(tags[i], "c"+strconv.Itoa(color), p.x.at(at.X), p.y.at(at.Y)) {
				break
			}
		}
	}
	p.b.WriteString("</g>")
	key, height := scatterKey(all, tags, p.width, p.height)
	return p.file(s.Title, s.Caption, key, height)
}

// scatterScales take in all points and their intervals.
func scatterScales(p *plate, all []Series) {
	var x, y []float64
	for _, s := range all {
		for _, at := range s.Points {
			x, y = append(x, at.X), append(y, at.Y)
			if at.XI != nil {
				x = append(x, at.XI[0], at.XI[1])
			}
			if at.YI != nil {
				y = append(y, at.YI[0], at.YI[1])
			}
		}
	}
	if x == nil {
		x, y = []float64{0, 1}, []float64{0, 1}
	}
	p.x.lo, p.x.hi = room(slices.Min(x), slices.Max(x))
	p.y.lo, p.y.hi = room(slices.Min(y), slices.Max(y))
	p.place(&p.x, &p.y)
}

func (s *Series) draw(p *plate, i int) {
	color, kind := look(i)
	if s.Line && len(s.Points) > 1 {
		var d strings.Builder
		for k, at := range s.Points {
			d.WriteString([]string{"M", "L"}[min(k, 1)] + px(p.x.at(at.X)) + " " + px(p.y.at(at.Y)))
		}
		fmt.Fprintf(p.b, `<path class="curve c%d" d="%s"/>`, color, d.String())
	}
	for _, at := range s.Points {
		class := "m c" + strconv.Itoa(color)
		if at.Hollow {
			class += " hollow"
		}
		x, y := p.x.at(at.X), p.y.at(at.Y)
		fmt.Fprintf(p.b, `<g class="%s"><title>%s</title>`, class,
			html.EscapeString(plaintext.Line(s.Name+": "+at.Note)))
		if at.XI != nil {
			fmt.Fprintf(p.b, `<path class="x" d="M%s %sH%s"/>`, px(p.x.at(at.XI[0])), px(y), px(p.x.at(at.XI[1])))
		}
		if at.YI != nil {
			fmt.Fprintf(p.b, `<path class="x" d="M%s %sV%s"/>`, px(x), px(p.y.at(at.YI[0])), px(p.y.at(at.YI[1])))
		}
		fmt.Fprintf(p.b, `<path class="s" d="%s"/></g>`, shape(kind, x, y))
		p.taken = append(p.taken, rect{x - 6, y - 6, x + 6, y + 6})
	}
}

// scatterKey draws the legend: the names of the series, in lines.
func scatterKey(all []Series, tags []string, width, top float64) (svg string, height float64) {
	const line = 17
	var b strings.Builder
	y := top + 10
	for i, s := range all {
		color, kind := look(i)
		name := plaintext.Line(s.Name)
		if tags[i] != name {
			name = tags[i] + ": " + name
		}
		fmt.Fprintf(&b, `<g class="m c%d"><path class="s" d="%s"/></g>`, color, shape(kind, 22, y))
		for _, part := range wrapped(name, int((width-40)/(letter*1.05))) {
			fmt.Fprintf(&b, `<text x="32" y="%s">%s</text>`, px(y+4), html.EscapeString(part))
			y += line
		}
	}
	return b.String(), y - top
}
