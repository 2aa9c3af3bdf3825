// SPDX-License-Identifier: MIT

package report

import (
	"fmt"
	"html"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/results/stat"
)

// front draws the frontier as stairs, and shades what is behind it.
func (c *canvas) front() {
	best := c.best()
	if len(best) == 0 {
		return
	}
	var d strings.Builder
	for i, m := range best {
		x, y := px(c.x.at(m.x.Median)), px(c.y.at(m.y.Median))
		if i == 0 {
			fmt.Fprintf(&d, "M%s %sV%s", x, px(c.y.from), y)
		} else {
			fmt.Fprintf(&d, "H%sV%s", x, y)
		}
	}
	fmt.Fprintf(&d, "H%s", px(c.x.to))
	fmt.Fprintf(c.b, `<path class="behind" d="%sV%sZ"/><path class="front" d="%s"/>`, d.String(), px(c.y.from),
		d.String())
}

// mark draws a cell: its runs, which are shown when it is pointed at, its intervals as a cross, and
// its shape.
func (c *canvas) mark(m *mark) {
	x, y := c.x.at(m.x.Median), c.y.at(m.y.Median)
	class := fmt.Sprintf("m c%d", min(c.colors.index(m), mostColors))
	switch {
	case m.discards:
		class += " hollow bound"
	case m.cell.HeldBy != "":
		class += " hollow"
	}
	if m.frontier {
		class += " best"
	}
	if c.links {
		fmt.Fprintf(c.b, `<a class="%s" href="#cell%d">`, class, m.number)
	} else {
		fmt.Fprintf(c.b, `<g class="%s">`, class)
	}
	fmt.Fprintf(c.b, "<title>%s</title>", html.EscapeString(c.words(m)))
	if c.runs {
		c.b.WriteString(`<path class="runs" d="`)
		for _, r := range m.runs { // there may be thousands
			to := append(c.b.AvailableBuffer(), 'M')
			to = append(appendPx(to, c.x.at(r[0])), ' ')
			c.b.Write(append(appendPx(to, c.y.at(r[1])), "h0"...))
		}
		c.b.WriteString(`"/>`)
	}
	c.cross(m.x, m.y, x, y)
	fmt.Fprintf(c.b, `<path class="s" d="%s"/>`, shape(max(0, c.shapes.index(m)), x, y))
	if c.links {
		c.b.WriteString("</a>")
	} else {
		c.b.WriteString("</g>")
	}
	c.taken = append(c.taken, rect{x - 6, y - 6, x + 6, y + 6})
}

// cross draws the intervals; of too few runs for any, from the least to the most, and dashed.
func (c *canvas) cross(sx, sy *stat.Summary, x, y float64) {
	ends := func(s *stat.Summary) (lo, hi float64, class string) {
		if s.Lo != nil {
			return *s.Lo, *s.Hi, "x"
		}
		return s.Min, s.Max, "x few"
	}
	lo, hi, class := ends(sx)
	fmt.Fprintf(c.b, `<path class="%s" d="M%s %sH%sM%s %sV%s"/>`, class, px(c.x.at(lo)), px(y), px(c.x.at(hi)), px(x),
		px(c.y.at(first(ends(sy)))), px(c.y.at(second(ends(sy)))))
}

func first(a, _ float64, _ string) float64 { return a }

func second(_, b float64, _ string) float64 { return b }

// shape draws a mark's outline.
func shape(kind int, x, y float64) string {
	const r = 5.2
	at := func(dx, dy float64) string { return px(x+dx*r) + " " + px(y+dy*r) }
	switch kind {
	case 1:
		return "M" + at(-.9, -.9) + "L" + at(.9, -.9) + "L" + at(.9, .9) + "L" + at(-.9, .9) + "Z"
	case 2:
		return "M" + at(0, -1.15) + "L" + at(1.1, .85) + "L" + at(-1.1, .85) + "Z"
	case 3:
		return "M" + at(0, -1.25) + "L" + at(1.25, 0) + "L" + at(0, 1.25) + "L" + at(-1.25, 0) + "Z"
	case 4:
		return "M" + at(-1.1, -.85) + "L" + at(1.1, -.85) + "L" + at(0, 1.15) + "Z"
	case 5:
		return "M" + at(-1.1, 0) + "L" + at(-.55, -.95) + "L" + at(.55, -.95) + "L" + at(1.1, 0) + "L" +
			at(.55, .95) + "L" + at(-.55, .95) + "Z"
	}
	return fmt.Sprintf("M%s %sa%s %s 0 1 0 %s 0a%s %s 0 1 0 %s 0Z", px(x-r), px(y), px(r), px(r), px(2*r), px(r), px(r),
		px(-2*r))
}

// words describes a mark for when it is pointed at.
func (c *canvas) words(m *mark) string {
	var b strings.Builder
	b.WriteString(plaintext.Line(m.cell.Cell.RX + " ← " + m.cell.Cell.TX))
	if m.setting != "" {
		b.WriteString(", " + m.setting)
	}
	fmt.Fprintf(&b, "\n%s Gbit/s %s, %s %s %s", fixed2(m.y.Median), bracket(m.y), digits3(m.x.Median), c.unit(),
		bracket(m.x))
	fmt.Fprintf(&b, "\n%s", strings.TrimSuffix(verdict(m.cell)+"; "+remarks(m.cell), "; "))
	if m.discards {
		b.WriteString("; the application never gets the payload")
	}
	if c.runs {
		b.WriteString("\nruns:")
		var digits [24]byte
		for i, r := range m.runs {
			if i == mostListed {
				fmt.Fprintf(&b, " and %d more", len(m.runs)-i)
				break
			}
			b.WriteByte(' ')
			b.Write(strconv.AppendFloat(digits[:0], r[1], 'f', 2, 64))
		}
		b.WriteString(" Gbit/s")
	}
	return b.String()
}

func bracket(s *stat.Summary) string {
	if s.Lo == nil {
		return "(no interval)"
	}
	return "[" + digits3(*s.Lo) + ".." + digits3(*s.Hi) + "]"
}
