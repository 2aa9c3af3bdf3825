// SPDX-License-Identifier: MIT

package plan

import (
	"fmt"
	"testing"
)

// Modes that take a queue over are in one group with those that copy, whose headers are split then.
// A plan that asks for the host as it is, too, has that in another group, as it has what differs in
// a setting or in how many threads there are.
func TestTurnGroups(t *testing.T) {
	on, off := new(true), new(false)
	tcp, zcrx, devmem := Cell{RX: "tcp", TX: "tcp"}, Cell{RX: "zcrx", TX: "tcp"}, Cell{RX: "devmem", TX: "tcp"}
	with := func(c Cell, f func(*Cell)) Cell { f(&c); return c }
	split := func(c Cell, v *bool) Cell { c.HeaderSplit = v; return c }
	for _, x := range []struct {
		name  string
		cells []Cell
		want  string
	}{
		{"all in one", []Cell{tcp, zcrx, devmem}, "[[0 1 2]]"},
		{"asked to split", []Cell{split(tcp, on), zcrx}, "[[0 1]]"},
		{"the host as it is, too", []Cell{tcp, split(tcp, on), zcrx, {RX: "uring", TX: "tcp"}}, "[[0] [1 2 3]]"},
		{"asked not to split", []Cell{split(tcp, off), zcrx}, "[[0] [1]]"},
		{"nobody splits", []Cell{tcp, split(tcp, on)}, "[[0] [1]]"},
		{"another MTU", []Cell{tcp, with(zcrx, func(c *Cell) { c.MTU = 9000 })}, "[[0] [1]]"},
		{"a queue for two flows", []Cell{with(tcp, func(c *Cell) { c.Flows, c.Queues = 2, 1 }),
			with(zcrx, func(c *Cell) { c.Flows, c.Queues = 2, 1 }),
			with(devmem, func(c *Cell) { c.Flows, c.Queues = 2, 1 })},
			"[[0] [1 2]]"},
		{"several flows", []Cell{with(tcp, func(c *Cell) { c.Flows = 2 }), with(zcrx, func(c *Cell) { c.Flows = 2 })},
			"[[0 1]]"},
		{"a control", []Cell{zcrx, with(zcrx, func(c *Cell) { c.Control = WrongQueue })}, "[[0] [1]]"},
	} {
		if got := fmt.Sprint(TurnGroups(x.cells)); got != x.want {
			t.Errorf("%s: groups %s, want %s", x.name, got, x.want)
		}
	}
}
