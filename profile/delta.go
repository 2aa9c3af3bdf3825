// SPDX-License-Identifier: MIT

package profile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/google/pprof/profile"
)

// Delta is where two sets of runs, A and B, spent their time, function by function: what a
// differential flame graph shows. Times are nanoseconds per kB of payload, means over the runs of
// each.
type Delta struct {
	sides [2]*Sum
	runs  [2]int
}

// The two sides of a delta.
const (
	sideA = 0
	sideB = 1
)

// NewDelta makes one of no runs.
func NewDelta() *Delta { return &Delta{sides: [2]*Sum{NewSum(), NewSum()}} }

// Add adds the profile of a run, as [Parse] returns it, that moved kb of payload.
func (d *Delta) Add(ctx context.Context, side int, p *profile.Profile, kb float64) error {
	if !(kb > 0) {
		return errors.New("the payload that the profile covers is unknown")
	}
	if err := d.sides[side].add(ctx, p, 1/kb); err != nil {
		return err
	}
	d.runs[side]++
	return nil
}

// Runs returns how many have been added to each side.
func (d *Delta) Runs() (a, b int) { return d.runs[sideA], d.runs[sideB] }

// deltaBox is a function that is drawn: its times a kB, and as much of them as both sides have room
// in.
type deltaBox struct {
	name       string
	class      Class
	a, b, wide float64
	calls      []*deltaBox
}

// box sums up a function and those below it, in the order of their names; none is a side that does
// not have it.
func (d *Delta) box(a, b place) *deltaBox {
	ta, tb := d.sides[sideA].tree, d.sides[sideB].tree
	x := &deltaBox{name: d.name(a, b), class: mostly(d.classes(a, b)), a: d.mean(sideA, a), b: d.mean(sideB, b)}
	var names []string
	for _, c := range ta.calls(a) {
		names = append(names, ta.name(c))
	}
	for _, c := range tb.calls(b) {
		names = append(names, tb.name(c))
	}
	slices.Sort(names)
	ownA, ownB := x.a, x.b
	for _, name := range slices.Compact(names) {
		k := d.box(ta.known(a, name), tb.known(b, name))
		x.calls = append(x.calls, k)
		ownA, ownB, x.wide = ownA-k.a, ownB-k.b, x.wide+k.wide
	}
	x.wide += max(ownA, ownB, 0)
	return x
}

func (d *Delta) name(a, b place) string {
	if a != none {
		return d.sides[sideA].tree.name(a)
	}
	return d.sides[sideB].tree.name(b)
}

// classes adds up the times of both sides.
func (d *Delta) classes(a, b place) (all [len(Classes)]float64) {
	for side, at := range [2]place{a, b} {
		if at == none {
			continue
		}
		for i, v := range d.sides[side].tree.nodes[at].classes {
			all[i] += v
		}
	}
	return all
}

// mean returns a function's time in a run of a side.
func (d *Delta) mean(side int, at place) float64 {
	if at == none || d.runs[side] == 0 {
		return 0
	}
	return d.sides[side].tree.nodes[at].total / float64(d.runs[side])
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
	root := d.box(top, top)
	depth, most := root.prune(root.wide * flameLeast)
	return writeFlamePage(w, title, notes, deltaStyle(), func(w io.Writer) {
		fmt.Fprintf(w, `<p>all: A %s, B %s, B - A %s ns of CPU per kB of payload</p>
<div class="flamegraph"><p class="key"><span><i class="more"></i>costs more in B</span>`+
			`<span><i class="less"></i>costs less in B</span><span><i class="same"></i>no difference</span></p>
<p>width: <button data-by="u" disabled>the larger of A and B</button> <button data-by="a">A</button> `+
			`<button data-by="b">B</button></p>
`, perKB(root.a), perKB(root.b), signedPerKB(root.b-root.a))
		writeFlameHead(w, depth)
		if root.wide > 0 {
			f := deltaFlame{w, root.wide, most}
			f.draw(root, 0, 0)
		}
		fmt.Fprint(w, flameFoot)
	})
}

// deltaStyle: what was found has a colour that no difference has.
func deltaStyle() string {
	return fmt.Sprintf("svg.flame rect.found { fill: #e8b100; } .key .more { background: %s; } .key .less { "+
		"background: %s; } .key .same { background: %s; }",
		deltaFill(1), deltaFill(-1), deltaFill(0))
}

type deltaFlame struct {
	w    io.Writer
	all  float64
	most float64 // difference
}

// draw draws a function and what it called below it.
func (f *deltaFlame) draw(x *deltaBox, from float64, depth int) {
	share := 0.0
	if f.most > 0 {
		share = (x.b - x.a) / f.most
	}
	graphBox{name: x.name, x: from / f.all, width: x.wide / f.all, depth: depth, fill: deltaFill(share),
		data: fmt.Sprintf(`data-a="%.4f" data-b="%.4f" data-u="%.4f"`, x.a, x.b, x.wide),
		says: fmt.Sprintf("A %s, B %s, B - A %s ns/kB, %s", perKB(x.a), perKB(x.b), signedPerKB(x.b-x.a),
			x.class)}.write(f.w)
	for _, c := range x.calls {
		f.draw(c, from, depth+1)
		from += c.wide
	}
}

func perKB(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

func signedPerKB(v float64) string { return fmt.Sprintf("%+.2f", v) }

// deltaFill chooses the colour of a difference, a share of the greatest: red is more, blue is less.
// Small ones are drawn stronger than they are, or nobody would see them.
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
