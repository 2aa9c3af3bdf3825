// SPDX-License-Identifier: MIT

package profile

import (
	"cmp"
	"slices"
	"strings"
)

// tree joins stacks from the outermost function in. Its nodes lie one after another and name each
// other by their places, since a file of a few kB may ask for all of those that there may be.
type tree struct {
	nodes  []node
	at     map[call]place
	ids    map[string]uint32
	names  []string // by their ids
	length int      // of all names, bytes
}

// place is a node's, in the order in which they came; the root's is top.
type place uint32

const (
	top  place = 0
	none place = 1<<32 - 1 // no node
)

// node is a function as all callers of one path see it.
type node struct {
	name    uint32
	below   place // the last one that it was found to call
	beside  place // one that the same function called
	total   float64
	classes [len(Classes)]float64
}

// call is a function, by its name's id, and where it was called.
type call struct {
	from place
	name uint32
}

func newTree() *tree {
	t := &tree{at: map[call]place{}, ids: map[string]uint32{}}
	t.nodes = append(t.nodes, node{name: t.id("all"), below: none, beside: none})
	return t
}

// id looks up a name's id, or gives it one.
func (t *tree) id(name string) uint32 {
	id, ok := t.ids[name]
	if !ok {
		id = uint32(len(t.names))
		name = strings.Clone(name) // and not all that it is a part of
		t.ids[name], t.names, t.length = id, append(t.names, name), t.length+len(name)
	}
	return id
}

// known looks up the place of a function that one called; none: it was not seen to.
func (t *tree) known(from place, name string) place {
	if t == nil || from == none {
		return none
	}
	id, ok := t.ids[name]
	if !ok {
		return none
	}
	to, ok := t.at[call{from, id}]
	if !ok {
		return none
	}
	return to
}

// call looks up the place of a function that one called, and makes it where there is none.
func (t *tree) call(from place, name string) place {
	c := call{from, t.id(name)}
	to, ok := t.at[c]
	if !ok {
		to = place(len(t.nodes))
		t.nodes = append(t.nodes, node{name: c.name, below: none, beside: t.nodes[from].below})
		t.nodes[from].below = to
		t.at[c] = to
	}
	return to
}

// add adds time of a class.
func (t *tree) add(at place, class int, w float64) {
	n := &t.nodes[at]
	n.total += w
	n.classes[class] += w
}

func (t *tree) name(at place) string { return t.names[t.nodes[at].name] }

// calls lists the functions that one called, in no order.
func (t *tree) calls(at place) (out []place) {
	if t == nil || at == none {
		return nil
	}
	for c := t.nodes[at].below; c != none; c = t.nodes[c].beside {
		out = append(out, c)
	}
	return out
}

// children lists them in the order of names, so that two graphs can be laid beside each other.
func (t *tree) children(at place) []place {
	out := t.calls(at)
	slices.SortFunc(out, func(a, b place) int { return cmp.Compare(t.name(a), t.name(b)) })
	return out
}

func (t *tree) depth(at place, shown func(place) bool) (d int) {
	for c := t.nodes[at].below; c != none; c = t.nodes[c].beside {
		if shown(c) {
			d = max(d, t.depth(c, shown))
		}
	}
	return d + 1
}

// classOf finds a class's place in [Classes]. A file may say anything: what has no colour is
// another.
func classOf(class Class) int {
	for i := range Classes {
		if Classes[i].Class == class && flameColors[class] != "" {
			return i
		}
	}
	return len(Classes) - 1
}

// mostly picks the class of most of the time; "": there is none. Of two with as much it is the one
// whose name comes first.
func mostly(times [len(Classes)]float64) (best Class) {
	most := 0.0
	for i, v := range times {
		if c := Classes[i].Class; v > most || v == most && v > 0 && c < best {
			best, most = c, v
		}
	}
	return best
}
