// SPDX-License-Identifier: MIT

package tune

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results/race"
)

// Space is what is tried for one mode.
type Space struct {
	Name    string // of the modes of both ends: zcrx/sendfile
	Base    plan.Cell
	Factors []Factor
	Cells   []plan.Cell // that a file asks for; nil: every combination of levels
	Cannot  []Cannot
}

// Factor is an option with the values that are tried. The first level is the mode's default: the
// option says nothing there.
type Factor struct {
	Option string
	Levels []string // as [plan.Option.Raw] tells them
}

// Cannot is what is not tried, or was in vain, and why.
type Cannot struct {
	Mode   string `json:"mode"`
	What   string `json:"what"` // a setting, such as rx_buf_len=32K; "": the mode itself
	Reason string `json:"reason"`
	Fix    string `json:"fix,omitempty"`
}

// notSettings are options that say what is measured, and not how it is done: the one of them that
// asks for the least would win.
var notSettings = []string{"touch", "pace", "control", "probe", "probe_sample", "path", "turn", "flows", "request",
	"response", "in_flight", "rr_rate", "rr_timeout", "fastopen", "steer_queue", "hold", "burst", "tuples", "xdp_touch",
	"xdp_redirect", "then", "tls", "both", "object", "every", "fan_in"}

// Spaces parts the cells of a file by their modes. What differs in them is what is tried; own
// reports whether that is nothing but modes.
func Spaces(s *matrix.Spec) (all []Space, own bool, err error) {
	own = true
	for _, c := range s.Cells {
		name := c.RX + "/" + c.TX
		i := slices.IndexFunc(all, func(x Space) bool { return x.Name == name })
		if i < 0 {
			i, all = len(all), append(all, Space{Name: name})
		}
		all[i].Cells = append(all[i].Cells, c)
	}
	for i := range all {
		x := &all[i]
		x.Base = x.Cells[0]
		for _, name := range matrix.Differing(x.Cells) {
			if slices.Contains(notSettings, name) {
				return nil, false, &fault.Error{Op: fmt.Sprintf("%s: %s differs between its cells, which says what is "+
					"measured, and is nothing to be tuned", x.Name, name), How: "give it one value for all cells"}
			}
			o := plan.LookupOption(name)
			f := Factor{Option: name, Levels: []string{""}}
			for k := range x.Cells {
				if v := o.Raw(&x.Cells[k]); !slices.Contains(f.Levels, v) {
					f.Levels = append(f.Levels, v)
				}
			}
			o.Clear(&x.Base)
			x.Factors, own = append(x.Factors, f), false
		}
	}
	for i := range all {
		if own {
			all[i].Cells = nil
		} else if x := &all[i]; !slices.ContainsFunc(x.Cells, x.isBase) {
			x.Cells = append([]plan.Cell{x.Base}, x.Cells...)
		}
	}
	return all, own, nil
}

func (x *Space) isBase(c plan.Cell) bool { return c.Key() == x.Base.Key() }

// set gives a cell of the base the level of a factor.
func set(c *plan.Cell, f *Factor, level int) {
	o := plan.LookupOption(f.Option)
	switch v := f.Levels[level]; {
	case v == "" && f.Option != "set":
		o.Clear(c)
	case v != "" && f.Option == "set" && c.Set != "":
		_ = o.Load(c, c.Set+o.Many+v)
	case v != "":
		_ = o.Load(c, v)
	}
}

// cell makes the cell of an arm: the level of each factor.
func (x *Space) cell(arm []int) plan.Cell {
	c := x.Base
	for i := range x.Factors {
		set(&c, &x.Factors[i], arm[i])
	}
	c.ID = x.Name
	for i, level := range arm {
		if level > 0 {
			c.ID += " " + x.Factors[i].word(level)
		}
	}
	return c
}

// word says a level as tables do.
func (f *Factor) word(level int) string {
	if f.Levels[level] == "" {
		return f.Option + "=default"
	}
	o := plan.LookupOption(f.Option)
	var c plan.Cell
	_ = o.Load(&c, f.Levels[level])
	if f.Option == "set" {
		return strings.ReplaceAll(f.Levels[level], "; ", " ")
	}
	return f.Option + "=" + o.Value(&c)
}

// words says the levels of an arm that are not the defaults.
func (x *Space) words(arm []int) (words []string) {
	for i, level := range arm {
		if level > 0 {
			words = append(words, x.Factors[i].word(level))
		}
	}
	return words
}

// count counts all combinations.
func (x *Space) count() int {
	if x.Cells != nil {
		return len(x.Cells)
	}
	n := 1
	for _, f := range x.Factors {
		n *= len(f.Levels)
	}
	return n
}

// singles are the arms with one level that is not the default, after that of the defaults: those
// that show which levels there are.
func (x *Space) singles() (arms [][]int) {
	arms = append(arms, make([]int, len(x.Factors)))
	for i, f := range x.Factors {
		for level := 1; level < len(f.Levels); level++ {
			arm := make([]int, len(x.Factors))
			arm[i] = level
			arms = append(arms, arm)
		}
	}
	return arms
}

// drop takes a level out.
func (x *Space) drop(factor, level int) {
	f := &x.Factors[factor]
	gone := f.Levels[level]
	f.Levels = slices.Delete(slices.Clone(f.Levels), level, level+1)
	o := plan.LookupOption(f.Option)
	if x.Cells != nil {
		x.Cells = slices.DeleteFunc(slices.Clone(x.Cells), func(c plan.Cell) bool { return o.Raw(&c) == gone })
	}
}

// field chooses which combinations race, at most so many from the beginning: all, or else the
// defaults, each level alone, and others that are drawn. There are not more groups of hosts'
// settings than each can have several arms, because arms of one group are compared the best. Of the
// other combinations some wait to come in. can says which cells can run.
func (x *Space) field(most int, seed uint64, can func(plan.Cell) bool) race.Field {
	f := race.Field{Mode: x.Name}
	for i := range x.Factors {
		g := &x.Factors[i]
		r := race.Factor{Name: g.Option, Host: plan.LookupOption(g.Option).Apart()}
		for level := range g.Levels {
			_, word, _ := strings.Cut(g.word(level), "=")
			r.Levels = append(r.Levels, word)
		}
		f.Factors = append(f.Factors, r)
	}
	known, limit := map[plan.CellKey]bool{}, most
	add := func(arm []int) {
		c := x.cell(arm)
		if len(f.Arms) >= limit || known[c.Key()] || len(f.Arms) > 0 && !can(c) {
			return
		}
		known[c.Key()] = true
		f.Arms = append(f.Arms, slices.Clone(arm))
	}
	add(make([]int, len(x.Factors))) // the defaults
	rng := rand.New(rand.NewPCG(seed, 1))
	all := x.all(most)
	if len(all) > most { // of a file; which of them is left to chance
		rng.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	}
	var groups, ways [][]int
	if all == nil {
		groups, ways = x.draw(most, rng, add)
	}
	for _, arm := range all {
		add(arm)
	}
	f.First, limit = len(f.Arms), mostWaiting
	for _, arm := range all {
		add(arm)
	}
	for _, of := range groups {
		for _, way := range ways {
			add(x.join(of, way))
		}
	}
	return f
}

// mostWaiting is how many settings a field has at most, with those that wait.
const mostWaiting = 600

// all lists all arms, where there are no more than so many, or a file names them.
func (x *Space) all(most int) (arms [][]int) {
	if x.Cells != nil {
		for i := range x.Cells {
			arm := make([]int, len(x.Factors))
			for k, f := range x.Factors {
				arm[k] = max(0, slices.Index(f.Levels, plan.LookupOption(f.Option).Raw(&x.Cells[i])))
			}
			arms = append(arms, arm)
		}
		return arms
	}
	if x.count() > most {
		return nil
	}
	arms = [][]int{nil}
	for _, f := range x.Factors {
		var next [][]int
		for _, arm := range arms {
			for level := range f.Levels {
				next = append(next, append(slices.Clip(arm), level))
			}
		}
		arms = next
	}
	return arms
}

// ofGroup is about how many arms a group is to have.
const ofGroup = 6

// draw adds arms: the defaults, each level alone, then each group of hosts' settings with some ways
// of the flow. Which ways goes on from group to group, so that all of them are tried somewhere. It
// returns the groups and the ways.
func (x *Space) draw(most int, rng *rand.Rand, add func([]int)) (groups, ways [][]int) {
	var hosts, flows []int
	single := 1 // of hosts' settings
	for i := range x.Factors {
		if f := &x.Factors[i]; plan.LookupOption(f.Option).Apart() {
			hosts, single = append(hosts, i), single+len(f.Levels)-1
		} else {
			flows = append(flows, i)
		}
	}
	groups, ways = x.some(hosts, max(single, most/ofGroup), rng), x.some(flows, most, rng)
	for _, arm := range x.singles() {
		add(arm)
	}
	for n := range ways {
		for g, of := range groups {
			way := 0
			if n > 0 {
				way = 1 + (g*(ofGroup-1)+n-1)%(len(ways)-1)
			}
			add(x.join(of, ways[way]))
		}
	}
	return groups, ways
}

// join makes an arm of a group's levels, and those of a way of the flow.
func (x *Space) join(of, way []int) []int {
	arm := slices.Clone(of)
	for i, level := range way {
		arm[i] = max(arm[i], level) // one of them is 0: no factor is of both
	}
	return arm
}

// some returns so many combinations of some factors' levels, or all: that of the defaults, each
// level alone, and others that are drawn.
func (x *Space) some(factors []int, most int, rng *rand.Rand) (arms [][]int) {
	known := map[string]bool{}
	add := func(arm []int) {
		if k := fmt.Sprint(arm); !known[k] && len(arms) < most {
			known[k], arms = true, append(arms, slices.Clone(arm))
		}
	}
	arm := make([]int, len(x.Factors))
	add(arm)
	all := 1
	for _, i := range factors {
		all *= len(x.Factors[i].Levels)
		for level := 1; level < len(x.Factors[i].Levels); level++ {
			arm[i] = level
			add(arm)
		}
		arm[i] = 0
	}
	for tries := 0; len(arms) < min(most, all) && tries < 100*most; tries++ {
		for _, i := range factors {
			arm[i] = rng.IntN(len(x.Factors[i].Levels))
		}
		add(arm)
	}
	return arms
}
