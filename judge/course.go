// SPDX-License-Identifier: MIT

package judge

import (
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// Course judges the runs of a session in their course, each when it ends: by itself, and by
// the runs of its cell before it.
type Course struct {
	gates plan.Gates
	cells map[alike]*frequencies
	keys  plan.Keys
}

// alike are the runs of a cell that can be compared: those of a calibration are shorter, and
// without a pace.
type alike struct {
	cell       plan.CellKey
	calibrates bool
}

// NewCourse judges by g.
func NewCourse(g plan.Gates) *Course {
	return &Course{gates: g, cells: map[alike]*frequencies{}}
}

// Know takes note of a run that was judged before.
func (c *Course) Know(r *results.Record) { c.of(r).add(r) }

func (c *Course) of(r *results.Record) *frequencies {
	k := alike{c.keys.Of(&r.Cell), r.Calibrates()}
	if c.cells[k] == nil {
		c.cells[k] = &frequencies{}
	}
	return c.cells[k]
}

// Judge judges a run, and takes note of it.
func (c *Course) Judge(r *results.Record) {
	f := c.of(r)
	f.add(r)
	Run(c.gates, r)
	if r.Verdict == results.OK && (!r.Warmup || r.Calibrates()) {
		if f := f.apart(c.gates, r); f != nil {
			r.Fail(plan.ByEnvironment, f.reason, f.fix)
		}
	}
}
