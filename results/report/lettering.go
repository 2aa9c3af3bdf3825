// SPDX-License-Identifier: MIT

package report

import (
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// lettering measures and draws the labels of plots. The library asks for the size of each some
// eight times a plot, and takes ten kilobytes of memory to tell; all plots have the same labels.
type lettering struct {
	text.Handler
	boxes   map[lettered]box
	extents map[font.Font]font.Extents
}

type lettered struct {
	text string
	font font.Font
}

type box struct{ width, height, depth vg.Length }

func newLettering(h text.Handler) *lettering {
	return &lettering{h, map[lettered]box{}, map[font.Font]font.Extents{}}
}

// onto makes a plot measure the labels of its axes with this lettering.
func (l *lettering) onto(p *plot.Plot) {
	p.X.Tick.Label.Handler, p.Y.Tick.Label.Handler = l, l
}

// Extents implements [text.Handler].
func (l *lettering) Extents(f font.Font) font.Extents {
	e, ok := l.extents[f]
	if !ok {
		e = l.Handler.Extents(f)
		l.extents[f] = e
	}
	return e
}

// Box implements [text.Handler].
func (l *lettering) Box(s string, f font.Font) (width, height, depth vg.Length) {
	k := lettered{s, f}
	b, ok := l.boxes[k]
	if !ok {
		b.width, b.height, b.depth = l.Handler.Box(s, f)
		l.boxes[k] = b
	}
	return b.width, b.height, b.depth
}

// Draw implements [text.Handler].
func (l *lettering) Draw(c vg.Canvas, s string, style text.Style, at vg.Point) {
	if s == "" || style.Rotation != 0 || strings.Contains(s, "\n") {
		l.Handler.Draw(c, s, style, at)
		return
	}
	width, height, depth := l.Box(s, style.Font)
	at.Y += (height+depth)*vg.Length(style.YAlign) - l.Extents(style.Font).Ascent
	c.SetColor(style.Color)
	c.FillString(l.Cache().Lookup(style.Font, style.Font.Size),
		at.Add(vg.Point{X: vg.Length(style.XAlign) * width, Y: style.Font.Size}), s)
}
