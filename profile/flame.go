// SPDX-License-Identifier: MIT

package profile

import (
	"fmt"
	"io"
	"slices"
)

// tree joins the stacks that were not idle, from the outermost function in.
func (p *Profile) tree() *tree {
	t := newTree()
	for i := range p.Stacks {
		s := &p.Stacks[i]
		if s.Where == Idle {
			continue
		}
		class, w := classOf(s.Class), float64(s.Weight)
		t.add(top, class, w)
		at := t.call(top, s.root())
		t.add(at, class, w)
		for _, f := range slices.Backward(s.Frames) {
			at = t.call(at, f.String())
			t.add(at, class, w)
		}
	}
	return t
}

// flameColors are the classes' fills.
var flameColors = map[Class]string{Driver: "#7f9fc4", pool: "#a0cbe8", gro: "#edc948", ip: "#b89b8a", TCP: "#8cc084",
	Socket: "#7fb8b4", Copy: "#ec8688", zeroCopy: "#f5ad6b",
	syscall: "#c9a3bf", locks: "#a39c9a", scheduler: "#cdb96b", tx: "#b5dfae", Application: "#c3c8d0", bpf: "#fabfd2",
	IRQOffEnd: "#cfc7c3", Other: "#e2e5e9"}

// Flame writes a flame graph: a page of its own, without network. A function is as wide as its
// share of the busy time with all that it called; a click widens it, and the field finds names by
// a regular expression.
func (p *Profile) Flame(w io.Writer, title string) error {
	t := p.tree()
	least := t.nodes[top].total * flameLeast
	return writeFlamePage(w, title, p.Remarks(), "", func(w io.Writer) {
		drawGraph(w, t, func(at place) bool { return t.nodes[at].total >= least })
	})
}

// drawGraph writes a graph with what belongs to it: the colours' names, and the field. Of each
// function that is shown its callers must be, too.
func drawGraph(w io.Writer, t *tree, shown func(place) bool) {
	root := &t.nodes[top]
	fmt.Fprint(w, `<div class="flamegraph"><p class="key">`)
	for i, c := range Classes {
		if fill := flameColors[c.Class]; fill != "" && root.classes[i] > 0 {
			fmt.Fprintf(w, `<span><i class="k%d"></i>%s</span>`, i, c.Class)
		}
	}
	fmt.Fprint(w, "</p>\n")
	writeFlameHead(w, t.depth(top, shown))
	if root.total > 0 {
		f := flame{w, t, root.total, shown}
		f.draw(top, 0, 0)
	}
	fmt.Fprint(w, flameFoot)
}

type flame struct {
	w     io.Writer
	t     *tree
	all   float64
	shown func(place) bool
}

// draw draws a function and what it called below it.
func (f *flame) draw(at place, from float64, depth int) {
	n := &f.t.nodes[at]
	x, width, class := from/f.all, n.total/f.all, mostly(n.classes)
	fill := flameColors[class]
	if depth == 0 {
		fill = "#d7dbe0"
	}
	graphBox{name: f.t.name(at), x: x, width: width, depth: depth, fill: fill,
		data: fmt.Sprintf(`data-x="%.6f" data-w="%.6f"`, x, width),
		says: fmt.Sprintf("%.2f %%, %s", 100*width, class)}.write(f.w)
	for _, c := range f.t.children(at) {
		if f.shown(c) {
			f.draw(c, from, depth+1)
		}
		from += f.t.nodes[c].total
	}
}
