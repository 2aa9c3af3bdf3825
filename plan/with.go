// SPDX-License-Identifier: MIT

package plan

import "github.com/zcbench/zcbench/flow/stream"

// MaxAgainst is how many partners `compare.against` may name.
const MaxAgainst = 20

// With returns the cell with another value of an option, as [Option.Raw] tells it. A mode brings
// the options that concern it, and did not concern the cell before, with the values that brings
// knows.
func (c Cell) With(o *Option, raw string, brings func(*Option) (raw string, ok bool)) Cell {
	before := c.modes()
	give(&c, o, raw)
	after := c.modes()
	for i := range Options {
		p := &Options[i]
		if p.mayConcern(before) || !p.mayConcern(after) {
			continue
		}
		if v, ok := brings(p); ok {
			give(&c, p, v)
		}
	}
	if len(after) == 2 {
		c.Drop()
	}
	return c
}

// MayConcern reports whether an option means anything to a cell. With a mode that this zcbench does
// not know, any option may.
func (o *Option) MayConcern(c *Cell) bool { return o.mayConcern(c.modes()) }

func (o *Option) mayConcern(known []stream.Mode) bool {
	return len(known) < 2 || o.concernsAny(known)
}

// give sets an option of a cell to what another cell has.
func give(c *Cell, o *Option, raw string) {
	o.Clear(c) // a pace is a rate or a share, and Load sets one of the two
	if raw != "" {
		_ = o.Load(c, raw) // a cell has it
	}
}
