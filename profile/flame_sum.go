// SPDX-License-Identifier: MIT

package profile

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Sum adds profiles up that were kept, those of a cell's runs, for one flame graph of all.
type Sum struct {
	tree *tree
	cut  map[place]float64 // time of stacks that were not followed further than here
}

// Bounds of a sum, whatever the profiles say. A node takes some 200 bytes with its place in maps.
const (
	deepest   = 200     // calls one inside the other that a graph has
	longest   = 1024    // functions of a stack that are looked at, whether a graph has them or not
	mostNodes = 1 << 17 // places of functions
	mostNames = 8 << 20 // bytes of their names
)

// NewSum makes an empty one.
func NewSum() *Sum { return &Sum{tree: newTree(), cut: map[place]float64{}} }

// Add adds a profile that [Parse] has read: its busy time, in nanoseconds. If the context ends
// meanwhile, a part of it is in the sum.
func (s *Sum) Add(ctx context.Context, p *profile.Profile) error { return s.add(ctx, p, 1) }

// add adds a profile whose times count for so much.
func (s *Sum) add(ctx context.Context, p *profile.Profile, scale float64) error {
	at := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool {
		return t.Type == "cpu" &&
			t.Unit == "nanoseconds"
	})
	if at < 0 {
		return errors.New("add a profile: it has no CPU time in nanoseconds")
	}
	for i, x := range p.Sample {
		if i%256 == 0 && ctx.Err() != nil {
			return fmt.Errorf("add a profile: %w", context.Cause(ctx))
		}
		if ns := x.Value[at]; ns > 0 && label(x, "where") != string(Idle) {
			s.stack(x, float64(ns)*scale)
		}
	}
	return nil
}

// label returns a sample's word; empty: it has none.
func label(x *profile.Sample, key string) string {
	if words := x.Label[key]; len(words) > 0 {
		return words[0]
	}
	return ""
}

// stack follows one from the outermost function in.
func (s *Sum) stack(x *profile.Sample, w float64) {
	class := classOf(Class(label(x, "class")))
	at := top
	s.tree.add(at, class, w)
	depth, last, left := 0, "", longest
	for _, l := range slices.Backward(x.Location) {
		for _, line := range slices.Backward(l.Line) { // what was inlined comes first
			if left--; left < 0 {
				s.cut[at] += w
				return
			}
			if line.Function == nil {
				continue
			}
			name := line.Function.Name
			if name == last && strings.HasPrefix(name, "[") {
				continue // of functions without names one after another, one says all
			}
			last = name
			if depth++; depth > deepest || !s.room(at, name) {
				s.cut[at] += w
				return
			}
			at = s.tree.call(at, name)
			s.tree.add(at, class, w)
		}
	}
}

// room reports whether a function that one calls has a place, or may have one.
func (s *Sum) room(at place, name string) bool {
	t := s.tree
	return t.known(at, name) != none || len(t.nodes) < mostNodes && t.length+len(name) <= mostNames
}

// Steps counts how many functions adding a profile looks at: what it costs, of which the size of a
// profile says little, because many samples may name one place with many functions.
func Steps(p *profile.Profile) (n int) {
	for _, x := range p.Sample {
		of := 1
		for i := len(x.Location) - 1; i >= 0 && of < longest; i-- {
			of += 1 + len(x.Location[i].Line)
		}
		n += min(of, longest)
	}
	return n
}

// drawn says what of a sum a graph shows.
type drawn struct {
	Functions int     // boxes, besides that of all
	Hidden    int     // of so many others there is none
	Folded    float64 // the share of all time that is below boxes, and in none of its own
}

// String formats a line below the graph.
func (d drawn) String() string {
	if d.Hidden == 0 && d.Folded == 0 {
		return fmt.Sprintf("All %d call sites are drawn.", d.Functions)
	}
	return fmt.Sprintf("The %d call sites with the most time are drawn; %d others, together %.1f %% of the busy "+
		"time, are folded into their callers.", d.Functions, d.Hidden, 100*d.Folded)
}

// Empty reports whether nothing has been added that was busy.
func (s *Sum) Empty() bool { return s.tree.nodes[top].total <= 0 }

// Draw writes the graph as a part of a page (see [FlameStyle]), with at most so many boxes: of all,
// and of the functions with the most time, each with its callers.
func (s *Sum) Draw(w io.Writer, most int) (d drawn, err error) {
	shown, d := s.largest(most)
	b := bufio.NewWriter(w)
	drawGraph(b, s.tree, func(at place) bool { return shown[at] })
	return d, b.Flush()
}

// largest selects the nodes with the most time. None has more than its caller, which of two equal
// ones comes first: so each has its callers.
func (s *Sum) largest(most int) (shown []bool, d drawn) {
	nodes := s.tree.nodes
	depths := make([]int32, len(nodes))
	all := make([]place, 0, len(nodes))
	for next := []place{top}; len(next) > 0; {
		at := next[len(next)-1]
		next = next[:len(next)-1]
		all = append(all, at)
		for _, c := range s.tree.children(at) {
			depths[c] = depths[at] + 1
			next = append(next, c)
		}
	}
	slices.SortStableFunc(all, func(a, b place) int {
		return cmp.Or(cmp.Compare(nodes[b].total, nodes[a].total), cmp.Compare(depths[a], depths[b]))
	})
	total := nodes[top].total
	shown = make([]bool, len(nodes))
	boxes := 0
	for _, at := range all[:min(max(most, 1), len(all))] {
		if shown[at] = nodes[at].total >= total*flameLeast; shown[at] {
			boxes++
		}
	}
	d = drawn{Functions: boxes - 1, Hidden: len(all) - boxes}
	if total <= 0 {
		return shown, d
	}
	folded := 0.
	for i := range nodes { // what was cut below another one is part of that one's time
		at := place(i)
		if !shown[at] {
			continue
		}
		folded += s.cut[at]
		for _, c := range s.tree.calls(at) {
			if !shown[c] {
				folded += nodes[c].total
			}
		}
	}
	d.Folded = folded / total
	return shown, d
}
