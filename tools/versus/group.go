// SPDX-License-Identifier: MIT

package main

import "slices"

// group is what takes turns: the ways to move one load in one layout. A way that several
// comparisons have in common runs once a round.
type group struct {
	name     string
	layout   Layout
	load     Load
	ways     []Contender
	lost     []string // why a way cannot run here
	outcomes []*Outcome
	repeated int // turns run again because others disturbed them
}

// grouped puts comparisons into groups.
func grouped(cs []Comparison) (groups []*group, outcomes []*Outcome) {
	for _, c := range cs {
		i := slices.IndexFunc(groups, func(g *group) bool { return g.layout == c.Layout && g.load == c.Load })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &group{name: c.Load.in(c.Layout), layout: c.Layout, load: c.Load})
		}
		o := groups[i].take(c)
		outcomes = append(outcomes, o)
	}
	return groups, outcomes
}

func (g *group) take(c Comparison) *Outcome {
	o := &Outcome{Comparison: c, group: g, ours: g.way(c.Ours), theirs: g.way(c.Theirs), softirq: [2]softirqs{{}, {}}}
	g.outcomes = append(g.outcomes, o)
	return o
}

// way finds the place of a way, which its name tells from the others of a group; it adds a new one.
func (g *group) way(c Contender) int {
	i := slices.IndexFunc(g.ways, func(w Contender) bool { return w.Name == c.Name })
	if i < 0 {
		i = len(g.ways)
		g.ways, g.lost = append(g.ways, c), append(g.lost, "")
	}
	return i
}

// add takes what a turn measured. A comparison that one of its ways is missing from has no pair.
func (g *group) add(got map[int]Measured, disturbed bool) {
	for _, o := range g.outcomes {
		ours, ok := got[o.ours]
		theirs, ok2 := got[o.theirs]
		if ok && ok2 {
			o.add(ours, theirs, disturbed)
		}
	}
}
