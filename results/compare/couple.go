// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// Couple is two cells that a comparison sets beside each other, with what is known of the two: for
// those who ask further than a table of figures does.
type Couple struct {
	A, B           *Cell
	DirA, DirB     string   // the results folders of the two; "": none is known
	TableA, TableB bool     // of a CSV file, which has figures alone
	Factor         string   // in which alone they differ; "": none, or Others
	Others         []string // in which they differ, where they are several
	// Asked: one factor was asked about, and they differ in several. Of such a couple nothing is
	// said; else the two are compared as they are.
	Asked   bool
	Between stat.Between // what plans declare
	// Together is how many couples with profiles are asked what makes the difference.
	Together int

	pair pairing
}

// profiled reports whether any run of the cell has a profile.
func (c *Cell) profiled() bool {
	return slices.ContainsFunc(c.Runs, func(r *results.Record) bool {
		return r.SUT.Probes != nil && r.SUT.Probes.Profile != nil || r.TG.Probes != nil && r.TG.Probes.Profile != nil
	})
}

// Couples returns the cells that were compared, in the order of the rows.
func (r *Result) Couples() []Couple { return r.couples }

func couples(pairs []pairing, a, b *Set) (out []Couple) {
	together := 0
	for _, p := range pairs {
		if p.a.profiled() && p.b.profiled() {
			together++
		}
	}
	for _, p := range pairs {
		out = append(out, Couple{A: p.a, B: p.b, DirA: a.Dir, DirB: b.Dir, TableA: a.Table, TableB: b.Table,
			Factor: p.factor, Others: p.others,
			Asked: len(p.others) > 0 && !p.whole, Between: a.Between.Or(b.Between), Together: together, pair: p})
	}
	return out
}

// Label names the couple's cell, or both where they differ.
func (c *Couple) Label() string { return label(&c.A.Cell, &c.B.Cell) }

// Run pairs a figure of one of the cell's runs with where that run stands among others.
func (c *Cell) Run(r *results.Record, v float64) stat.Run { return RunOf(r, v, c.session) }

// Rates says what the rates of the two leave of a comparison of their costs per kB.
func (c *Couple) Rates() Rates { return RatesOf(c.A, c.B, 1, 1) }

// Remarks say what is to be thought of when the costs of the two are compared, beside the factor
// that they were to differ in: a line each, mostly none.
func (c *Couple) Remarks() (lines []string) {
	if len(c.Others) > 0 {
		lines = append(lines, "A and B differ in "+strings.Join(c.Others, ", ")+
			" together: a difference cannot be attributed to one of them")
	}
	if w := c.Rates().Work; w != "" {
		unit := "Gbit/s"
		if c.A.Runs[0].TG.Transactions != nil {
			unit = "round trips/s"
		}
		who, how := string(w), "measure at one pace (--pace)"
		if w.Missed() {
			who, how = "which "+who, "measure at a pace that both hold (--pace)"
		}
		lines = append(lines, fmt.Sprintf("A carried %.2f %s and B %.2f, %s: a cost per kB depends on the rate, "+
			"so nothing is named; %s", *c.A.rate(), unit, *c.B.rate(), who, how))
	}
	if clocks := clocksOf(c.A, c.B); clocks.apart() {
		lines = append(lines, "the CPUs ran at different frequencies ("+clocks.text+"): times compare the clocks, too")
	}
	if class := otherClass(c.pair); class != "" {
		lines = append(lines, otherCPUs(class, "")+": what work costs on one says nothing of the other")
	}
	if u := unconsumed(&c.A.Cell, &c.B.Cell); u != "" {
		lines = append(lines, u+": the benefit of having it in the cache is not included")
	}
	if text := otherBuffers(&c.A.Cell, &c.B.Cell, "A", "B"); text != "" {
		lines = append(lines, text+": set rx_buffer to make them alike")
	}
	if inert := inertBetween(c.A, c.B); inert != nil {
		lines = append(lines, didNotAct(inert))
	}
	if v := versions(c.A, c.B); len(v) > 1 {
		lines = append(lines, "the runs come from zcbench "+strings.Join(v, " and ")+
			": their classes of CPU time may be defined differently")
	}
	for _, f := range c.pair.forced {
		lines = append(lines, fmt.Sprintf("%s=%s is forced: %s cannot run: %s", f.Factor, f.Value, f.Cell, f.Reason))
	}
	return lines
}

// versions collects the versions of zcbench that measured the cells, at either end. Runs that name
// none add nothing.
func versions(cells ...*Cell) (out []string) {
	for _, c := range cells {
		for _, r := range c.Runs {
			for _, role := range ends.Roles {
				if v := r.Host(role).Env.ToolVersion; v != "" && !slices.Contains(out, v) {
					out = append(out, v)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// Ends returns the ends that a comparison of the two is about: those whose options differ.
func (c *Couple) Ends() (roles []ends.Role) {
	about := subjects(&c.A.Cell, &c.B.Cell)
	if slices.Contains(about, plan.ByReceiver) {
		roles = append(roles, ends.SUT)
	}
	if slices.Contains(about, plan.BySender) {
		roles = append(roles, ends.TG)
	}
	return roles
}
