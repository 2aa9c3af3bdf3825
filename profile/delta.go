// SPDX-License-Identifier: MIT

package profile

import (
	"bufio"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/google/pprof/profile"
)

//go:embed delta.js
var deltaScript string

// Delta is where two sets of runs, A and B, spent their time, function by function: what a
// differential flame graph shows. Times are nanoseconds per KB of payload, means over the runs of
// each.
type Delta struct {
	root  *deltaNode
	runs  [2]int
	nodes int
}

// The two sides of a delta.
const (
	SideA = 0
	SideB = 1
)

// deltaNode is a function as all callers of one path see it.
type deltaNode struct {
	name  string
	ns    [2]float64 // with all that it called
	class map[string]float64
	calls map[string]*deltaNode
}

// Bounds of a delta: a profile from elsewhere may have any stacks.
const (
	deltaNodes = 1 << 18
	deltaDepth = 256
)

// NewDelta is one of no runs.
func NewDelta() *Delta {
	return &Delta{root: &deltaNode{name: "all", class: map[string]float64{}}}
}

// Add adds the profile of a run, as [Parse] returns it, that moved kb of payload. What a function
// calls beyond a bound counts as its own.
func (d *Delta) Add(side int, p *profile.Profile, kb float64) error {
	at := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "cpu" && t.Unit == "nanoseconds" })
	switch {
	case at < 0:
		return errors.New("the profile has no CPU time in nanoseconds")
	case !(kb > 0):
		return errors.New("no payload is known that the profile is of")
	}
	d.runs[side]++
	for _, s := range p.Sample {
		if ns := s.Value[at]; ns > 0 {
			d.add(side, s, float64(ns)/kb)
		}
	}
	return nil
}

// add adds a stack, from the outermost function in.
func (d *Delta) add(side int, s *profile.Sample, ns float64) {
	class := ""
	if c := s.Label["class"]; len(c) > 0 {
		class = c[0]
	}
	if class == string(IdleClass) {
		return
	}
	if flameColors[Class(class)] == "" { // a file may say anything
		class = string(Other)
	}
	n, depth := d.root, 0
	n.count(side, class, ns)
	for _, l := range slices.Backward(s.Location) {
		for _, line := range slices.Backward(l.Line) {
			if line.Function == nil {
				continue
			}
			next := n.calls[line.Function.Name]
			if next == nil {
				if d.nodes == deltaNodes || depth == deltaDepth {
					return
				}
				next = &deltaNode{name: line.Function.Name, class: map[string]float64{}}
				if n.calls == nil {
					n.calls = map[string]*deltaNode{}
				}
				n.calls[next.name] = next
				d.nodes++
			}
			n, depth = next, depth+1
			n.count(side, class, ns)
		}
	}
}

func (n *deltaNode) count(side int, class string, ns float64) {
	n.ns[side] += ns
	n.class[class] += ns
}

// mostly is the class of most of the time below it.
func (n *deltaNode) mostly() (best string) {
	for c, v := range n.class {
		if best == "" || v > n.class[best] || v == n.class[best] && c < best {
			best = c
		}
	}
	return best
}

// box is a function that is drawn: its times a KB, and as much of them as both sides have room
// in.
type deltaBox struct {
	*deltaNode
	a, b, wide float64
	calls      []*deltaBox
}

// box sums up a function and those below it, in the order of their names.
func (d *Delta) box(n *deltaNode) *deltaBox {
	of := func(side int) float64 {
		if d.runs[side] == 0 {
			return 0
		}
		return n.ns[side] / float64(d.runs[side])
	}
	x := &deltaBox{deltaNode: n, a: of(SideA), b: of(SideB)}
	ownA, ownB := x.a, x.b
	for _, c := range n.calls {
		k := d.box(c)
		x.calls = append(x.calls, k)
		ownA, ownB, x.wide = ownA-k.a, ownB-k.b, x.wide+k.wide
	}
	x.wide += max(ownA, ownB, 0)
	slices.SortFunc(x.calls, func(a, b *deltaBox) int { return cmp.Compare(a.name, b.name) })
	return x
}

// prune leaves boxes out that are too narrow to be seen, and returns how deep the rest is and the
// greatest difference.
func (x *deltaBox) prune(least float64) (depth int, most float64) {
	x.calls = slices.DeleteFunc(x.calls, func(c *deltaBox) bool { return c.wide < least })
	most = math.Abs(x.b - x.a)
	for _, c := range x.calls {
		deep, far := c.prune(least)
		depth, most = max(depth, deep), max(most, far)
	}
	return depth + 1, most
}

// Flame writes the differential flame graph: a page of its own, without network. A function is as
// wide as the larger of its times in A and in B, or as that in one of them; it is the redder the
// more it costs in B, and the bluer the less.
func (d *Delta) Flame(w io.Writer, title string, notes []string) error {
	root := d.box(d.root)
	depth, most := root.prune(root.wide * flameLeast)
	f := deltaFlame{w: bufio.NewWriter(w), all: root.wide, most: most}
	f.head(html.EscapeString(title), notes, root, (depth+1)*flameLine)
	if root.wide > 0 {
		f.draw(root, 0, 0)
	}
	fmt.Fprintf(f.w, "</svg>\n<script>\n%s</script></body></html>\n", deltaScript)
	return f.w.Flush()
}

type deltaFlame struct {
	w    *bufio.Writer
	all  float64
	most float64 // difference
}

func (f *deltaFlame) head(title string, notes []string, root *deltaBox, height int) {
	fmt.Fprintf(f.w, `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>%s</title>
<style>body { font: 13px system-ui, sans-serif; margin: 1rem; } svg text { font: 11px monospace; pointer-events: none; } rect { stroke: #fff; stroke-width: .5; cursor: pointer; }
rect.found { fill: #e8b100; } svg.dim rect:not(.found) { opacity: .45; } .key i { display: inline-block; width: .8rem; height: .8rem; margin: 0 .2rem 0 .8rem; }</style></head>
<body><h1>%s</h1><p>`, title, title)
	for _, line := range notes {
		fmt.Fprintf(f.w, "%s<br>", html.EscapeString(line))
	}
	fmt.Fprintf(f.w, `</p><p>all: A %s, B %s, B - A %s ns of CPU per KB of payload</p>
<p class="key"><i style="background:%s"></i>costs more in B<i style="background:%s"></i>costs less in B<i style="background:%s"></i>no difference</p>
<p>width: <button data-by="u" disabled>the larger of A and B</button> <button data-by="a">A</button> <button data-by="b">B</button>
<label>find <input id="find" size="30"></label> <span id="told"></span> <button id="reset">all</button></p>
<svg id="flame" width="%d" height="%d" viewBox="0 0 %d %d">
`, perKB(root.a), perKB(root.b), signedPerKB(root.b-root.a), deltaFill(1), deltaFill(-1), deltaFill(0), flameWidth, height, flameWidth, height)
}

// draw draws a function and what it called below it.
func (f *deltaFlame) draw(x *deltaBox, from float64, depth int) {
	at, wide := from/f.all, x.wide/f.all
	share := 0.0
	if f.most > 0 {
		share = (x.b - x.a) / f.most
	}
	short := shortened(x.name)
	name := html.EscapeString(short)
	px := func(v float64) string { return strconv.FormatFloat(v*flameWidth, 'f', 1, 64) }
	fmt.Fprintf(f.w, `<g data-a="%.4f" data-b="%.4f" data-u="%.4f" data-d="%d" data-n="%s"><rect x="%s" y="%d" width="%s" height="%d" fill="%s"><title>%s: A %s, B %s, B - A %s ns/KB, %s</title></rect><text x="%s" y="%d">%s</text></g>
`, x.a, x.b, x.wide, depth, name, px(at), depth*flameLine, px(wide), flameLine-1, deltaFill(share), name, perKB(x.a), perKB(x.b), signedPerKB(x.b-x.a), html.EscapeString(x.mostly()),
		px(at+.0025), depth*flameLine+12, html.EscapeString(fit(short, wide)))
	for _, c := range x.calls {
		f.draw(c, from, depth+1)
		from += c.wide
	}
}

func perKB(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

func signedPerKB(v float64) string { return fmt.Sprintf("%+.2f", v) }

// deltaFill is the colour of a difference, a share of the greatest: red is more, blue is less.
// Small ones are drawn stronger than they are, or nobody saw them.
func deltaFill(share float64) string {
	none, full := [3]float64{0xe9, 0xe9, 0xe9}, [3]float64{0xe0, 0x5a, 0x4f}
	if share < 0 {
		full = [3]float64{0x4f, 0x8f, 0xd0}
	}
	s := math.Sqrt(min(math.Abs(share), 1))
	var c [3]int
	for i := range c {
		c[i] = int(math.Round(none[i] + s*(full[i]-none[i])))
	}
	return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2])
}
