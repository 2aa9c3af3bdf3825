// SPDX-License-Identifier: MIT

package profile

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Sum adds profiles up that were kept, those of a cell's runs, for one flame graph of all.
type Sum struct {
	root  *node
	nodes int
	cut   map[*node]float64 // time of stacks that were not followed further than here
}

// Bounds of a sum, whatever the profiles say: calls one inside the other, and places of functions.
const (
	deepest   = 200
	mostNodes = 1 << 19
)

// NewSum is one of nothing.
func NewSum() *Sum {
	return &Sum{root: &node{name: "all", classes: map[Class]float64{}}, cut: map[*node]float64{}}
}

// Add adds a profile that [Parse] has read: its busy time, in nanoseconds.
func (s *Sum) Add(p *profile.Profile) error { return s.add(p, 1) }

// add adds a profile whose times count for so much.
func (s *Sum) add(p *profile.Profile, scale float64) error {
	at := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "cpu" && t.Unit == "nanoseconds" })
	if at < 0 {
		return errors.New("add a profile: it has no CPU time in nanoseconds")
	}
	for _, x := range p.Sample {
		if ns := x.Value[at]; ns > 0 && label(x, "where") != string(Idle) {
			s.stack(x, float64(ns)*scale)
		}
	}
	return nil
}

// label is a sample's word; empty: it has none.
func label(x *profile.Sample, key string) string {
	if words := x.Label[key]; len(words) > 0 {
		return words[0]
	}
	return ""
}

// stack follows one from the outermost function in.
func (s *Sum) stack(x *profile.Sample, w float64) {
	class := Class(label(x, "class"))
	if flameColors[class] == "" { // a file may say anything
		class = Other
	}
	at := s.root
	count := func() { at.total += w; at.classes[class] += w }
	count()
	depth, last := 0, ""
	for _, l := range slices.Backward(x.Location) {
		for _, line := range slices.Backward(l.Line) { // what was inlined comes first
			if line.Function == nil {
				continue
			}
			name := line.Function.Name
			if name == last && strings.HasPrefix(name, "[") {
				continue // of functions without names one after another, one says all
			}
			last = name
			if depth++; depth > deepest || at.calls[name] == nil && s.nodes >= mostNodes {
				s.cut[at] += w
				return
			}
			if at.calls[name] == nil {
				s.nodes++
			}
			at = at.call(name)
			count()
		}
	}
}

// Drawn says what of a sum a graph shows.
type Drawn struct {
	Functions int     // boxes, besides that of all
	Hidden    int     // of so many others there is none
	Folded    float64 // the share of all time that is below boxes, and in none of its own
}

// String is a line below the graph.
func (d Drawn) String() string {
	if d.Hidden == 0 && d.Folded == 0 {
		return fmt.Sprintf("All %d call sites are drawn.", d.Functions)
	}
	return fmt.Sprintf("The %d call sites with the most time are drawn; %d others, together %.1f %% of the busy time, are folded into their callers.", d.Functions, d.Hidden, 100*d.Folded)
}

// Empty tells that nothing has been added that was busy.
func (s *Sum) Empty() bool { return s.root.total <= 0 }

// Draw writes the graph as a part of a page (see [FlameStyle]), with at most so many boxes: of all,
// and of the functions with the most time, each with its callers.
func (s *Sum) Draw(w io.Writer, most int) (d Drawn, err error) {
	shown, d := s.largest(most)
	b := bufio.NewWriter(w)
	drawGraph(b, s.root, func(n *node) bool { return shown[n] })
	return d, b.Flush()
}

// ranked is a node and how many callers it has.
type ranked struct {
	n     *node
	depth int
}

// largest are the nodes with the most time. None has more than its caller, which of two equal
// ones comes first: so each has its callers.
func (s *Sum) largest(most int) (shown map[*node]bool, d Drawn) {
	var all []ranked
	for next := []ranked{{s.root, 0}}; len(next) > 0; {
		r := next[len(next)-1]
		next = next[:len(next)-1]
		all = append(all, r)
		for _, c := range r.n.children() {
			next = append(next, ranked{c, r.depth + 1})
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.n.total, a.n.total), cmp.Compare(a.depth, b.depth))
	})
	least := s.root.total * flameLeast
	shown = map[*node]bool{}
	for _, r := range all[:min(max(most, 1), len(all))] {
		if r.n.total >= least {
			shown[r.n] = true
		}
	}
	d = Drawn{Functions: len(shown) - 1, Hidden: len(all) - len(shown)}
	if s.root.total <= 0 {
		return shown, d
	}
	folded := 0.
	for n := range shown { // what was cut below another one is part of that one's time
		folded += s.cut[n]
		for _, c := range n.calls {
			if !shown[c] {
				folded += c.total
			}
		}
	}
	d.Folded = folded / s.root.total
	return shown, d
}
