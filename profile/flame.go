// SPDX-License-Identifier: MIT

package profile

import (
	"cmp"
	"fmt"
	"io"
	"slices"
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

// called is the function of that name that it called; nil: none.
func (n *node) called(name string) *node {
	if n == nil {
		return nil
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

// mostly is the class of most of the time in and below some nodes, of those that are not nil.
func mostly(nodes ...*node) (best Class) {
	all := map[Class]float64{}
	for _, n := range nodes {
		if n == nil {
			continue
		}
		for c, v := range n.classes {
			all[c] += v
		}
	}
	for c, v := range all {
		if best == "" || v > all[best] || v == all[best] && c < best {
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
	least := root.total * flameLeast
	return writeFlamePage(w, title, p.Remarks(), "", func(w io.Writer) {
		drawGraph(w, root, func(n *node) bool { return n.total >= least })
	})
}

// drawGraph writes a graph with what belongs to it: the colours' names, and the field. Of each
// function that is shown its callers must be, too.
func drawGraph(w io.Writer, root *node, shown func(*node) bool) {
	fmt.Fprint(w, `<div class="flamegraph"><p class="key">`)
	for _, c := range Classes {
		if fill := flameColors[c.Class]; fill != "" && root.classes[c.Class] > 0 {
			fmt.Fprintf(w, `<span><i style="background:%s"></i>%s</span>`, fill, c.Class)
		}
	}
	fmt.Fprint(w, "</p>\n")
	writeFlameHead(w, root.depth(shown))
	if root.total > 0 {
		f := flame{w, root.total, shown}
		f.draw(root, 0, 0)
	}
	fmt.Fprint(w, flameFoot)
}

type flame struct {
	w     io.Writer
	all   float64
	shown func(*node) bool
}

// draw draws a function and what it called below it.
func (f *flame) draw(n *node, from float64, depth int) {
	x, width, class := from/f.all, n.total/f.all, mostly(n)
	fill := flameColors[class]
	if depth == 0 {
		fill = "#d7dbe0"
	}
	graphBox{name: n.name, x: x, width: width, depth: depth, fill: fill, data: fmt.Sprintf(`data-x="%.6f" data-w="%.6f"`, x, width),
		says: fmt.Sprintf("%.2f %%, %s", 100*width, class)}.write(f.w)
	for _, c := range n.children() {
		if f.shown(c) {
			f.draw(c, from, depth+1)
		}
		from += c.total
	}
}
