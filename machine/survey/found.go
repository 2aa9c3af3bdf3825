// SPDX-License-Identifier: MIT

package survey

import (
	"cmp"
	"maps"
	"slices"
)

// Found is a snapshot as it lies in a folder: a whole one, or what is not as in that one. A
// folder has a base of thousands of facts, and a change of a few for each cell: no whole is
// made of these.
type Found struct {
	Base   *Snapshot
	Change *Snapshot // nil: it is Base itself
}

// Value of a fact; false: there is none.
func (f Found) Value(name string) (string, bool) {
	if f.Change != nil {
		if v, ok := f.Change.Value(name); ok {
			return v, true
		}
		if _, gone := slices.BinarySearch(f.Change.Gone, name); gone {
			return "", false
		}
	}
	return f.Base.Value(name)
}

// Whole returns it as a whole snapshot.
func (f Found) Whole() *Snapshot {
	if f.Change == nil {
		return f.Base
	}
	return f.Change.over(f.Base)
}

// Values are those that a fact has over some snapshots.
type Values struct {
	Name   string
	Values []string // each once, sorted
	Absent bool     // some have no such fact
}

// Varies reports whether the fact differs between snapshots.
func (v *Values) Varies() bool { return len(v.Values) > 1 || v.Absent && len(v.Values) > 0 }

// Across collects the values of all facts over snapshots, the most telling first. Each base is
// gone through once, and each change.
func Across(all []Found) []*Values {
	c := collected{}
	groups := map[*Snapshot][]*Snapshot{} // changes, by base; nil: the base itself
	var bases []*Snapshot
	for _, f := range all {
		if groups[f.Base] == nil {
			bases = append(bases, f.Base)
		}
		groups[f.Base] = append(groups[f.Base], f.Change)
	}
	for _, base := range bases {
		c.group(base, groups[base])
	}
	out := make([]*Values, 0, len(c))
	for _, v := range slices.SortedFunc(maps.Values(c),
		func(a, b *counted) int { return cmp.Or(cmp.Compare(a.weight, b.weight), cmp.Compare(a.Name, b.Name)) }) {
		slices.Sort(v.Values.Values)
		v.Values.Values = slices.Compact(v.Values.Values)
		v.Absent = v.have < len(all)
		out = append(out, &v.Values)
	}
	return out
}

// collected are facts by name.
type collected map[string]*counted

type counted struct {
	Values
	have   int // snapshots that have the fact
	weight int
}

// group adds the snapshots of one base.
func (c collected) group(base *Snapshot, changes []*Snapshot) {
	touched := map[string]int{} // in how many of them a fact is not the base's
	for _, s := range changes {
		if s == nil {
			continue
		}
		for _, f := range s.Facts {
			touched[f.Name]++
			c.add(f, 1)
		}
		for _, name := range s.Gone {
			if _, both := s.Value(name); !both {
				touched[name]++
			}
		}
	}
	for _, f := range base.Facts {
		if n := len(changes) - touched[f.Name]; n > 0 {
			c.add(f, n)
		}
	}
}

// add notes that n snapshots have a fact.
func (c collected) add(f Fact, n int) {
	v := c[f.Name]
	if v == nil {
		v = &counted{Values: Values{Name: f.Name}, weight: f.weight()}
		c[f.Name] = v
	}
	v.have += n
	if last := len(v.Values.Values) - 1; last < 0 || v.Values.Values[last] != f.Value {
		v.Values.Values = append(v.Values.Values, f.Value)
	}
}
