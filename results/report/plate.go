// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"
	"unicode/utf8"
)

// plate is a drawing of marks over two axes, in the page's colours: dark where the page is.
type plate struct {
	b             *bytes.Buffer
	width, height float64
	x, y          scale
	taken         []rect // by marks and names
}

func newPlate(width, height float64) plate {
	return plate{b: &bytes.Buffer{}, width: width, height: height}
}

type rect struct{ x0, y0, x1, y1 float64 }

func (r rect) hits(o rect) bool { return r.x0 < o.x1 && o.x0 < r.x1 && r.y0 < o.y1 && o.y0 < r.y1 }

// place gives axes their places.
func (p *plate) place(x, y *scale) {
	x.from, x.to = 46, p.width-14
	y.from, y.to = p.height-42, 22
}

// grid draws both axes.
func (p *plate) grid(xText, yText string) {
	p.b.WriteString(`<g class="grid">`)
	for _, v := range steps(p.y.lo, p.y.hi, int(p.height/55)) {
		y := p.y.at(v)
		fmt.Fprintf(p.b, `<path d="M%s %sH%s"/><text x="%s" y="%s" text-anchor="end">%s</text>`, px(p.x.from), px(y),
			px(p.x.to), px(p.x.from-6), px(y+3.8), short(v))
	}
	for _, v := range steps(p.x.lo, p.x.hi, int(p.width/80)) {
		x := p.x.at(v)
		fmt.Fprintf(p.b, `<path d="M%s %sV%s"/><text x="%s" y="%s" text-anchor="middle">%s</text>`, px(x), px(p.y.from),
			px(p.y.to), px(x), px(p.y.from+16), short(v))
	}
	fmt.Fprintf(p.b, `<text class="axis" x="2" y="12">%s%s</text><text class="axis" x="%s" y="%s" `+
		`text-anchor="end">%s%s</text></g>`, html.EscapeString(yText), p.y.note(), px(p.x.to), px(p.y.from+34),
		html.EscapeString(xText), p.x.note())
}

// put writes a name beside a mark, where there is room for it; false: there is none.
func (p *plate) put(name, class string, x, y float64) bool {
	w, h := letter*float64(utf8.RuneCountInString(name)), 12.0
	inside := max(p.x.from+w/2+1, min(x, p.x.to-w/2-1))
	for _, at := range []struct {
		x, y   float64
		anchor string
	}{
		{x + 9, y - 7, "start"}, {x - 9, y - 7, "end"}, {x + 9, y + 15, "start"}, {x - 9, y + 15, "end"},
		{x + 11, y + 4, "start"}, {x - 11, y + 4, "end"}, {x, y - 12, "middle"}, {x, y + 20, "middle"},
		{inside, y - 12, "middle"}, {inside, y + 20, "middle"},
	} {
		left := at.x
		switch at.anchor {
		case "end":
			left -= w
		case "middle":
			left -= w / 2
		}
		box := rect{left, at.y - h + 2, left + w, at.y + 3}
		if box.x0 < p.x.from || box.x1 > p.x.to || box.y0 < p.y.to-12 || box.y1 > p.y.from ||
			slices.ContainsFunc(p.taken, box.hits) {
			continue
		}
		p.taken = append(p.taken, box)
		if class != "" {
			class = ` class="` + class + `"`
		}
		fmt.Fprintf(p.b, `<text%s x="%s" y="%s" text-anchor="%s">%s</text>`, class, px(at.x), px(at.y), at.anchor,
			html.EscapeString(name))
		return true
	}
	return false
}

// inPage renders the drawing as an element of the page, with a title and a description for those
// who do not see it.
func (p *plate) inPage(class, title, text string) template.HTML {
	return template.HTML(
		fmt.Sprintf(
			`<svg class="decision %s" viewBox="0 0 %g %g" role="group" aria-label="%s"><desc>%s</desc>%s</svg>`, class,
			p.width, p.height, html.EscapeString(title), html.EscapeString(text), p.b))
}

// file renders the drawing as a file of its own, with a legend below it.
func (p *plate) file(title, text, key string, height float64) []byte {
	return fmt.Appendf(nil, `<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" class="decision" viewBox="0 0 %g %g" width="%g" height="%g" `+
		`font-family="system-ui, sans-serif"><title>%s</title><desc>%s</desc><style>%s</style>`+
		`<rect class="paper" width="100%%" height="100%%"/>%s%s</svg>
`, p.width, p.height+height, p.width, p.height+height, html.EscapeString(title), html.EscapeString(text), chartStyle,
		p.b, key)
}

// wrapped cuts a text into lines of at most so many letters, at spaces where there are any.
func wrapped(text string, most int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		for utf8.RuneCountInString(word) > most {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			r := []rune(word)
			lines, word = append(lines, string(r[:most])), string(r[most:])
		}
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= most:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	if line != "" || lines == nil {
		lines = append(lines, line)
	}
	return lines
}
