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

func (n *node) depth(shown func(*node) bool) (d int) {
	for _, c := range n.calls {
		if shown(c) {
			d = max(d, c.depth(shown))
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

// FlameStyle is what a page needs besides the graphs that are in it, and FlameScript what makes
// them answer: it begins with all parts of the class flamegraph that stand before it.
const FlameStyle = `svg.flame text { font: 11px monospace; pointer-events: none; } svg.flame rect { stroke: #fff; stroke-width: .5; cursor: pointer; }
svg.flame rect.found { fill: #d6336c; } svg.flame.dim rect:not(.found) { opacity: .45; } .key span { display: inline-block; margin-right: .8rem; } .key i { display: inline-block; width: .8rem; height: .8rem; margin-right: .2rem; }`

// FlameScript is the script: see [FlameStyle].
func FlameScript() string { return flameScript }

// Flame writes a flame graph: a page of its own, without network. A function is as wide as its
// share of the busy time with all that it called; a click widens it, and the field finds names by
// a regular expression.
func (p *Profile) Flame(w io.Writer, title string) error {
	root := p.tree()
	b := bufio.NewWriter(w)
	title = html.EscapeString(title)
	fmt.Fprintf(b, `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>%s</title>
<style>body { font: 13px system-ui, sans-serif; margin: 1rem; } %s</style></head>
<body><h1>%s</h1><p>`, title, FlameStyle, title)
	for _, line := range p.Remarks() {
		fmt.Fprintf(b, "%s<br>", html.EscapeString(line))
	}
	fmt.Fprint(b, "</p>\n")
	least := root.total * flameLeast
	drawGraph(b, root, func(n *node) bool { return n.total >= least })
	fmt.Fprintf(b, "<script>\n%s</script></body></html>\n", flameScript)
	return b.Flush()
}

// drawGraph writes a graph with what belongs to it: the colours' names, and the field. Of each
// function that is shown its callers must be, too.
func drawGraph(w io.Writer, root *node, shown func(*node) bool) {
	height := (root.depth(shown) + 1) * flameLine
	fmt.Fprint(w, `<div class="flamegraph"><p class="key">`)
	for _, c := range Classes {
		if fill := flameColors[c.Class]; fill != "" && root.classes[c.Class] > 0 {
			fmt.Fprintf(w, `<span><i style="background:%s"></i>%s</span>`, fill, c.Class)
		}
	}
	fmt.Fprintf(w, `</p><p><label>find <input class="find" size="30"></label> <span class="share"></span> <button class="reset" type="button">all</button></p>
<svg class="flame" width="%d" height="%d" viewBox="0 0 %d %d">
`, flameWidth, height, flameWidth, height)
	if root.total > 0 {
		f := flame{w, root.total, shown}
		f.draw(root, 0, 0)
	}
	fmt.Fprint(w, "</svg></div>\n")
}

type flame struct {
	w     io.Writer
	all   float64
	shown func(*node) bool
}

// draw draws a function and what it called below it.
func (f *flame) draw(n *node, from float64, depth int) {
	x, width := from/f.all, n.total/f.all
	fill := flameColors[n.mostly()]
	if depth == 0 {
		fill = "#d7dbe0"
	}
	short := shortened(n.name)
	name := html.EscapeString(short)
	px := func(v float64) string { return strconv.FormatFloat(v*flameWidth, 'f', 1, 64) }
	fmt.Fprintf(f.w, `<g data-x="%.6f" data-w="%.6f" data-n="%s"><rect x="%s" y="%d" width="%s" height="%d" fill="%s"><title>%s, %.2f %%, %s</title></rect><text x="%s" y="%d">%s</text></g>
`, x, width, name, px(x), depth*flameLine, px(width), flameLine-1, fill, name, 100*width, n.mostly(), px(x+.0025), depth*flameLine+12, html.EscapeString(fit(short, width)))
	for _, c := range n.children() {
		if f.shown(c) {
			f.draw(c, from, depth+1)
		}
		from += c.total
	}
}

// longestName is how much of a name a graph has, in letters: those of templates and generic
// functions have no end, and each stands in a box several times.
const longestName = 160

func shortened(name string) string {
	if len(name) <= longestName {
		return name
	}
	if r := []rune(name); len(r) > longestName {
		return string(r[:longestName-1]) + "…"
	}
	return name
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
