// SPDX-License-Identifier: MIT

package profile

import (
	"bufio"
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"io"
	"slices"
	"strconv"
	"strings"
)

//go:embed flame.js
var flameScript string

// A flame graph's measures, in pixels, and the least share of all that is drawn.
const (
	flameWidth = 1200
	flameLine  = 17
	flameLeast = .0005
	flameChar  = 6.6 // of the 11 px font
)

// node is a function as all callers of one path see it.
type node struct {
	name    string
	total   float64
	classes map[Class]float64
	calls   map[string]*node
}

func (n *node) call(name string) *node {
	if n.calls == nil {
		n.calls = map[string]*node{}
	}
	if n.calls[name] == nil {
		n.calls[name] = &node{name: name, classes: map[Class]float64{}}
	}
	return n.calls[name]
}

// children are in the order of names, so that two graphs can be laid beside each other.
func (n *node) children() (out []*node) {
	for _, c := range n.calls {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *node) int { return cmp.Compare(a.name, b.name) })
	return out
}

func (n *node) depth(least float64) (d int) {
	for _, c := range n.calls {
		if c.total >= least {
			d = max(d, c.depth(least))
		}
	}
	return d + 1
}

// mostly is the class of most of the time below it.
func (n *node) mostly() (best Class) {
	for c, v := range n.classes {
		if best == "" || v > n.classes[best] || v == n.classes[best] && c < best {
			best = c
		}
	}
	return best
}

// tree joins the stacks that were not idle, from the outermost function in.
func (p *Profile) tree() *node {
	root := &node{name: "all", classes: map[Class]float64{}}
	for i := range p.Stacks {
		s := &p.Stacks[i]
		if s.Where == Idle {
			continue
		}
		at, w := root, float64(s.Weight)
		add := func() { at.total += w; at.classes[s.Class] += w }
		add()
		at = at.call(s.root())
		add()
		for _, f := range slices.Backward(s.Frames) {
			at = at.call(f.String())
			add()
		}
	}
	return root
}

// flameColors are the classes' fills.
var flameColors = map[Class]string{Driver: "#7f9fc4", Pool: "#a0cbe8", GRO: "#edc948", IP: "#b89b8a", TCP: "#8cc084", Socket: "#7fb8b4", Copy: "#ec8688", ZeroCopy: "#f5ad6b",
	Syscall: "#c9a3bf", Locks: "#a39c9a", Scheduler: "#cdb96b", TX: "#b5dfae", Application: "#c3c8d0", BPF: "#fabfd2", IRQOffEnd: "#cfc7c3", Other: "#e2e5e9"}

// Flame writes a flame graph: a page of its own, without network. A function is as wide as its
// share of the busy time with all that it called; a click widens it, and the field finds names by
// a regular expression.
func (p *Profile) Flame(w io.Writer, title string) error {
	root := p.tree()
	b := bufio.NewWriter(w)
	least := root.total * flameLeast
	height := (root.depth(least) + 1) * flameLine
	title = html.EscapeString(title)
	fmt.Fprintf(b, `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>%s</title>
<style>body { font: 13px system-ui, sans-serif; margin: 1rem; } svg text { font: 11px monospace; pointer-events: none; } rect { stroke: #fff; stroke-width: .5; cursor: pointer; }
rect.found { fill: #d6336c; } svg.dim rect:not(.found) { opacity: .45; } .key span { display: inline-block; margin-right: .8rem; } .key i { display: inline-block; width: .8rem; height: .8rem; margin-right: .2rem; }</style></head>
<body><h1>%s</h1><p>`, title, title)
	for _, line := range p.Remarks() {
		fmt.Fprintf(b, "%s<br>", html.EscapeString(line))
	}
	fmt.Fprint(b, `</p><p class="key">`)
	for _, c := range Classes {
		if fill := flameColors[c.Class]; fill != "" && root.classes[c.Class] > 0 {
			fmt.Fprintf(b, `<span><i style="background:%s"></i>%s</span>`, fill, c.Class)
		}
	}
	fmt.Fprintf(b, `</p><p><label>find <input id="find" size="30"></label> <span id="share"></span> <button id="reset">all</button></p>
<svg id="flame" width="%d" height="%d" viewBox="0 0 %d %d">
`, flameWidth, height, flameWidth, height)
	if root.total > 0 {
		f := flame{b, root.total, least}
		f.draw(root, 0, 0)
	}
	fmt.Fprintf(b, "</svg>\n<script>\n%s</script></body></html>\n", flameScript)
	return b.Flush()
}

type flame struct {
	w     io.Writer
	all   float64
	least float64
}

// draw draws a function and what it called below it.
func (f *flame) draw(n *node, from float64, depth int) {
	x, width := from/f.all, n.total/f.all
	fill := flameColors[n.mostly()]
	if depth == 0 {
		fill = "#d7dbe0"
	}
	name := html.EscapeString(n.name)
	px := func(v float64) string { return strconv.FormatFloat(v*flameWidth, 'f', 1, 64) }
	fmt.Fprintf(f.w, `<g data-x="%.6f" data-w="%.6f" data-n="%s"><rect x="%s" y="%d" width="%s" height="%d" fill="%s"><title>%s, %.2f %%, %s</title></rect><text x="%s" y="%d">%s</text></g>
`, x, width, name, px(x), depth*flameLine, px(width), flameLine-1, fill, name, 100*width, n.mostly(), px(x+.0025), depth*flameLine+12, html.EscapeString(fit(n.name, width)))
	for _, c := range n.children() {
		if c.total >= f.least {
			f.draw(c, from, depth+1)
		}
		from += c.total
	}
}

// fit is as much of a name as a box has room for.
func fit(name string, width float64) string {
	r := []rune(name)
	n := int((width*flameWidth - 6) / flameChar)
	switch {
	case n >= len(r):
		return name
	case n < 3:
		return ""
	}
	return strings.TrimSpace(string(r[:n-1])) + "…"
}
