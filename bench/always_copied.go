// SPDX-License-Identifier: MIT

package bench

import (
	"slices"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/plan/modes"
)

// copiesHere reports whether some modes cannot but copy on the path: loopback, and the veth link
// that was made for the experiment. Of other links the ends find out, run by run.
func (st *stage) copiesHere() bool { return st.pair != nil || st.opt.SUTDev == "" }

// allCopied is a limit that lets what copies all of the payload count.
const allCopied = 0.99

// foldsCopied reports whether a single run is enough for modes that cannot but copy here: not where
// the user wants such runs to count.
func (e *Experiment) foldsCopied(st *stage) bool {
	limit := e.Spec.Gates.Copied
	return e.FoldCopied && st.copiesHere() && (limit == nil || *limit < allCopied)
}

// triedOnce returns a test for the cells of which a single run is enough: their modes promise not
// to copy, and on this path they always do.
func (e *Experiment) triedOnce(st *stage) func(plan.Cell) bool {
	folds := e.foldsCopied(st)
	return func(c plan.Cell) bool { return folds && len(copyingEnds(c)) > 0 }
}

// uncompared returns a function that explains why a cell is in no comparison: it cannot run, or is
// tried once.
func (e *Experiment) uncompared(st *stage) func(plan.Cell) *Missing {
	once := e.triedOnce(st)
	return remembered(func(c plan.Cell) *Missing {
		if once(c) {
			return &Missing{Reason: "its payload is always copied here", Fix: ""}
		}
		return st.missing(c)
	})
}

// copyingEnd is a mode of one end of a cell.
type copyingEnd struct {
	role stream.Role
	mode string
}

// copyingEnds lists the modes of a cell that cannot but copy over loopback and veth.
func copyingEnds(c plan.Cell) (out []copyingEnd) {
	for _, role := range []stream.Role{stream.RX, stream.TX} {
		if m, err := modes.Find(role, c.Mode(role)); err == nil && m.Has(stream.CopiedHere) {
			out = append(out, copyingEnd{role, m.Name})
		}
	}
	return out
}

// foldCopied leaves one cell of each mode that cannot but copy here, behind all others, and with a
// mode at its other end that keeps its promise where there is one.
func foldCopied(cells []plan.Cell) (out []plan.Cell) {
	one := map[copyingEnd]plan.Cell{}
	var order []copyingEnd
	for _, c := range cells {
		ends := copyingEnds(c)
		if len(ends) == 0 {
			out = append(out, c)
		}
		for _, e := range ends {
			old, there := one[e]
			if !there {
				order = append(order, e)
			}
			if !there || len(ends) < len(copyingEnds(old)) {
				one[e] = c
			}
		}
	}
	for _, e := range order {
		if c := one[e]; !slices.ContainsFunc(out, func(o plan.Cell) bool { return o.ID == c.ID }) {
			out = append(out, c)
		}
	}
	return out
}

// leftOut names the cells that folding has left out; "": none.
func leftOut(before, after []plan.Cell) string {
	var ids []string
	for _, c := range before {
		if !slices.ContainsFunc(after, func(a plan.Cell) bool { return a.ID == c.ID }) {
			ids = append(ids, c.ID)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return "left out, because the payload is always copied here and one pair per such mode shows it (to run all: " +
		"--max-copied 100): " + strings.Join(ids, ", ")
}

// planTried keeps of the cells that are tried once one run, without a warm-up. Where cells take
// turns that run is made by itself, before those that are compared.
func planTried(planned []matrix.Run, once func(plan.Cell) bool) (out []matrix.Run) {
	n, turns := 0, slices.ContainsFunc(planned, func(p matrix.Run) bool { return p.Group > 0 })
	for _, p := range planned {
		tried := once(p.Cell)
		switch {
		case tried && (p.Rep > 0 || p.Warmup):
		case tried && turns:
			p.Group, p.Once = 0, true
			out = slices.Insert(out, n, p)
			n++
		default:
			out = append(out, p)
		}
	}
	return out
}
