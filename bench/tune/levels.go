// SPDX-License-Identifier: MIT

package tune

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// refuse takes out the cells of a file that the plan refuses on these hosts.
func (e *entry) refuse(h *bench.Found) {
	if m := h.Missing(e.Base); m != nil {
		e.Cannot = append(e.Cannot, Cannot{e.Name, "", m.Reason, m.Fix})
		return
	}
	e.Cells = slices.DeleteFunc(slices.Clone(e.Cells), func(c plan.Cell) bool {
		m := h.Missing(c)
		if m != nil {
			what := strings.TrimPrefix(c.ID, c.RX+"/"+c.TX+" ")
			e.Cannot = append(e.Cannot, Cannot{e.Name, what, m.Reason, m.Fix})
		}
		return m != nil
	})
}

// try plans starts in which each level is tried, apart from others.
func (s *Search) try(e *entry) {
	arms := e.singles()
	if e.Cells != nil { // the levels are those of cells that there are
		arms = e.witnesses()
	}
	byGroup := map[int][][]int{}
	var order []int
	for _, arm := range arms {
		c := s.cell(e, arm)
		g := s.group(e, &c)
		if byGroup[g] == nil {
			order = append(order, g)
		}
		byGroup[g] = append(byGroup[g], arm)
	}
	for _, g := range order {
		for arms := range slices.Chunk(byGroup[g], e.together) {
			s.queue = append(s.queue, start{entry: e, trial: arms, runs: s.runs(e, arms, true)})
		}
	}
}

// witnesses are the arms of a file by which each of its levels is tried: that of the defaults, and
// for each level the cell that has the fewest other levels.
func (x *Space) witnesses() (arms [][]int) {
	all := x.all(0)
	others := func(arm []int) (n int) {
		for _, level := range arm {
			n += min(level, 1)
		}
		return n
	}
	arms = append(arms, make([]int, len(x.Factors)))
	for f := range x.Factors {
		for level := 1; level < len(x.Factors[f].Levels); level++ {
			var best []int
			for _, arm := range all {
				if arm[f] == level && (best == nil || others(arm) < others(best)) {
					best = arm
				}
			}
			if best != nil && !slices.ContainsFunc(arms, func(a []int) bool { return slices.Equal(a, best) }) {
				arms = append(arms, best)
			}
		}
	}
	return arms
}

// tried takes what became of a level.
func (s *Search) tried(e *entry, arm []int, r *results.Record) {
	defaults := !slices.ContainsFunc(arm, func(level int) bool { return level > 0 })
	if defaults && r.SUT.ThroughputGbps != nil {
		e.value = *r.SUT.ThroughputGbps
	}
	if r.Verdict == results.OK || r.FailedGate() == plan.ByEnvironment {
		return
	}
	c := Cannot{Mode: e.Name, What: strings.Join(e.words(arm), " "), Reason: r.Reason, Fix: r.Fix}
	s.note("%s %s: %s", e.Name, cmp.Or(c.What, atDefaults), r.Reason)
	if defaults {
		c.What = ""
	}
	e.Cannot = append(e.Cannot, c)
	if e.gone == nil {
		e.gone = map[plan.CellKey]bool{}
	}
	e.gone[e.cell(arm).Key()] = true
}

// leave takes out what could not run when it was tried: levels that were tried alone, and cells of
// a file.
func (e *entry) leave() {
	e.Cells = slices.DeleteFunc(e.Cells, func(c plan.Cell) bool { return e.gone[c.Key()] })
	for f := range e.Factors {
		arm := make([]int, len(e.Factors))
		for level := len(e.Factors[f].Levels) - 1; level > 0; level-- {
			arm[f] = level
			if e.gone[e.cell(arm).Key()] {
				e.drop(f, level)
			}
		}
	}
	e.Factors = slices.DeleteFunc(e.Factors, func(f Factor) bool { return len(f.Levels) < 2 })
}
