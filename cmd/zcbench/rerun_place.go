// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
)

// place puts the CPUs and NUMA nodes of flags in the place of the folder's, and notes what that
// changes: figures of other CPUs are of another machine.
func (f *rerunFlags) place(s *matrix.Spec, note func(string, ...any)) error {
	if s.Flags == nil {
		s.Flags = map[string]string{}
	}
	for _, x := range []struct {
		name, cpusFlag, nodeFlag string
		cpus                     []string
		node                     string
		end                      *matrix.End
		layout                   func(*plan.Cell) string
	}{
		{"sut", "--cpus", "--node", f.cpus, f.node, &s.SUT, func(c *plan.Cell) string { return c.CPULayout }},
		{"tg", "--tg-cpus", "--tg-node", f.tgCPUs, f.tgNode, &s.TG, (*plan.Cell).TGLayout},
	} {
		for _, text := range x.cpus {
			c, err := place.ParseCPUs(text)
			if err != nil {
				return cli.Usagef("%s: %w", x.cpusFlag, err)
			}
			own := string(c.Layout())
			if !slices.ContainsFunc(s.Cells, func(c plan.Cell) bool { return x.layout(&c) == own }) {
				return cli.Usagef("%s %s is the layout %s, which no cell of the plan has: the cells would differ "+
					"from the folder's", x.cpusFlag, text, own)
			}
			now := matrix.Layout{App: c.App, IRQ: c.Softirq}
			if was, ok := x.end.Layouts[own]; !ok || was != now {
				note("not as before: %s: CPUs %s of layout %s, were %s", x.name, text, own, cpusText(was, ok))
			}
			if x.end.Layouts == nil {
				x.end.Layouts = map[string]matrix.Layout{}
			}
			x.end.Layouts[own] = now
			for _, part := range []string{"app", "irq"} {
				s.Flags[x.name+".layouts."+own+"."+part] = x.cpusFlag
			}
		}
		if x.node == "" {
			continue
		}
		n, err := matrix.ParseNode(x.node)
		if err != nil {
			return cli.Usagef("%s: %w", x.nodeFlag, err)
		}
		if was := x.end.Node; was == nil || *was != *n {
			note("not as before: %s: NUMA node %s, was %s", x.name, nodeText(n), nodeText(was))
		}
		x.end.Node, s.Flags[x.name+".node"] = n, x.nodeFlag
	}
	return nil
}

func cpusText(l matrix.Layout, known bool) string {
	if !known {
		return "chosen"
	}
	return fmt.Sprintf("%d,%d", l.App, l.IRQ)
}

func nodeText(n *int) string {
	switch {
	case n == nil:
		return "that of the interface"
	case *n == matrix.AnyNode:
		return "any"
	}
	return fmt.Sprint(*n)
}
