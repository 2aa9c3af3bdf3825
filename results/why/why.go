// SPDX-License-Identifier: MIT

package why

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

// Result is what makes the difference between two cells, B beside A.
type Result struct {
	A       plan.Cell `json:"a"`
	B       plan.Cell `json:"b"`
	Factor  string    `json:"factor,omitempty"` // in which alone they differ
	Ends    []End     `json:"ends"`
	Remarks []string  `json:"remarks,omitempty"`
	// Work is why nothing is named: the two delivered different rates.
	Work compare.Work `json:"work,omitempty"`
}

// End is one end's part of it. CPU is what its CPUs were busy by their own accounting; the
// classes of a run, with what was not sampled, add up to that. So Explained and Unexplained do.
type End struct {
	Role    ends.Role `json:"end"`
	Event   string    `json:"event"` // what samples came by
	CPU     Line      `json:"cpu"`
	Classes []Line    `json:"classes"` // all, those with the greatest differences first
	// Explained are the classes together that differ beyond doubt and name a cause; nil: none does.
	Explained   *Sum `json:"explained,omitempty"`
	Unexplained Sum  `json:"unexplained"`
	// Done is what was done in the time of all classes, and of those that differ; nil: nobody
	// counted.
	Done      []Done `json:"done,omitempty"`
	Functions []Line `json:"functions"` // those that were tested, by their own time
	Counters  []Line `json:"counters"`  // those that both have, in units of their own
	// Untested are classes and counters that so few runs could not tell apart, whatever they say.
	Untested int      `json:"untested,omitempty"`
	Notes    []string `json:"notes,omitempty"`

	// RunsA and RunsB are the runs that it is of.
	RunsA []*results.Record `json:"-"`
	RunsB []*results.Record `json:"-"`

	rates    compare.Rates
	together float64 // couples that are asked about, times their ends
}

// Line is one part: a class, a function, a counter.
type Line struct {
	Name  string `json:"name,omitempty"`
	Where string `json:"where,omitempty"` // of a function: thread, softirq, interrupt
	Class string `json:"class,omitempty"` // of a function
	Unit  string `json:"unit"`
	stat.Shift
	// Share is the part's share of the difference in CPU time; nil: it is no part of that, or there
	// is no difference beyond doubt.
	Share   *float64 `json:"share,omitempty"`
	Differs bool     `json:"differs"`         // beyond doubt
	Vague   bool     `json:"vague,omitempty"` // a class that names no cause
	// too few runs to test it among so many, or no equal work; of the CPU time: no part differs
	Untested bool `json:"untested,omitempty"`
}

// Sum is what classes are together that were chosen for what they show. So it has no test and no
// verdict, and its interval is one after selection: too narrow, and too far from 0.
type Sum struct {
	Unit  string   `json:"unit"`
	A     float64  `json:"a"`
	B     float64  `json:"b"`
	Diff  float64  `json:"difference"`
	Lo    *float64 `json:"lo"`
	Hi    *float64 `json:"hi"`
	Share *float64 `json:"share,omitempty"`
}

// Fields formats the sum like a line that was not tested.
func (s *Sum) Fields() []string {
	l := Line{Unit: s.Unit, Share: s.Share, Shift: stat.Shift{A: s.A, B: s.B, Diff: s.Diff, Lo: s.Lo, Hi: s.Hi}}
	return l.Fields(false)
}

// unitNs is the unit of CPU, classes and functions.
const unitNs = "ns/kB"

// leastProfiled is how many runs with a profile each cell needs at the least.
const leastProfiled = 2

// Explain finds what makes the difference between the two of a couple. metrics: the counters of
// their metrics count too, which only a set that was read whole has. It fails if neither end of the
// two can be compared.
func Explain(c *compare.Couple, metrics bool) (*Result, error) {
	if c.Asked {
		return nil, fmt.Errorf("%s: they differ in several factors: name the two cells, such as DIR@rx=tcp DIR@rx=zcrx",
			c.Label())
	}
	r := &Result{A: c.A.Cell, B: c.B.Cell, Factor: c.Factor, Work: c.Rates().Work}
	var lacking []error
	for _, role := range ends.Roles {
		end, err := explainEnd(c, role, metrics, float64(max(1, c.Together)*max(1, comparableEnds(c))))
		if err != nil {
			lacking = append(lacking, err)
			continue
		}
		r.Ends = append(r.Ends, *end)
	}
	if len(r.Ends) == 0 {
		return nil, fmt.Errorf("%s: %w", c.Label(), bothAlike(lacking))
	}
	for _, err := range lacking {
		r.Remarks = append(r.Remarks, err.Error())
	}
	r.Remarks = append(r.Remarks, c.Remarks()...)
	return r, nil
}

// Comparable reports whether Explain has an answer, without making it.
func Comparable(c *compare.Couple) bool {
	return !c.Asked && comparableEnds(c) > 0
}

// comparableEnds counts the ends that have an answer: what is asked of both is corrected for both.
func comparableEnds(c *compare.Couple) (n int) {
	for _, role := range ends.Roles {
		s := &sides{a: profiled(c.A, role, false), b: profiled(c.B, role, false)}
		if _, err := s.comparable(c, role); err == nil {
			n++
		}
	}
	return n
}

// lackError is why an end cannot be compared.
type lackError struct {
	role     ends.Role
	why, how string
}

func (e *lackError) Error() string {
	return fmt.Sprintf("%s: %s: %s", e.role.Label(), e.why, e.how)
}

// bothAlike joins the errors of two ends, and states once what they have in common.
func bothAlike(errs []error) error {
	x, y := (*lackError)(nil), (*lackError)(nil)
	if len(errs) == 2 && errors.As(errs[0], &x) && errors.As(errs[1], &y) && x.why == y.why {
		return fmt.Errorf("%s: %s", x.why, x.how)
	}
	if len(errs) == 2 {
		return fmt.Errorf("%w; %w", errs[0], errs[1])
	}
	return errors.Join(errs...)
}

func explainEnd(c *compare.Couple, role ends.Role, metrics bool, together float64) (*End, error) {
	s := &sides{a: profiled(c.A, role, metrics), b: profiled(c.B, role, metrics), between: c.Between}
	event, err := s.comparable(c, role)
	if err != nil {
		return nil, err
	}
	e := &End{Role: role, Event: event, RunsA: s.a.records(), RunsB: s.b.records(), rates: c.Rates(),
		together: together}
	e.CPU = s.line("", unitNs, (*run).cpu)
	if n := s.fold(); n > 0 {
		e.Notes = append(e.Notes,
			fmt.Sprintf("the %d classes with the least time are in other: a comparison has at most %d", n, mostClasses))
	}
	e.Classes = s.classes()
	e.Counters = s.counters()
	e.test()
	if e.CPU.Untested = !anyDiffers(e.Classes) && !anyDiffers(e.Counters); !e.CPU.Untested {
		// As functions: asked only now, it adds no error to comparisons of equal cells. In the
		// family itself it would lose half of what 8 runs can tell.
		e.CPU.Choose(stat.Alpha)
		e.CPU.Differs = e.differs(&e.CPU)
		e.Functions = s.functions(e.CPU, together)
		e.testFunctions()
	}
	e.sumUp(s)
	e.Done = s.done(Differing(e.Classes))
	e.Notes = append(e.Notes, s.notes(c)...)
	return e, nil
}

// test gives classes and counters their verdicts. They are one family, of as many as the runs can
// tell apart at all: the classes with the most time, then the counters in their order. How much
// time a class has in both cells together says nothing of its difference, so that choosing by it
// makes none. Where the two took turns, pairs are within starts if they can tell all apart by
// these.
func (e *End) test() {
	slices.SortStableFunc(e.Classes, func(x, y Line) int { return cmp.Compare(y.A+y.B, x.A+x.B) })
	level := stat.Alpha / (float64(len(e.Classes)+len(e.Counters)) * e.together)
	e.CPU.Choose(level)
	for _, lines := range [][]Line{e.Classes, e.Counters} {
		for i := range lines {
			lines[i].Choose(level)
		}
	}
	var family []*stat.Shift
	room := 0
	if e.CPU.Testable() && e.rates.Work == "" {
		room = int(float64(e.CPU.Tests()) / e.together)
	}
	for _, lines := range [][]Line{e.Classes, e.Counters} {
		for i := range lines {
			if lines[i].Untested = len(family) >= room; lines[i].Untested {
				if e.rates.Work == "" {
					e.Untested++
				}
				continue
			}
			family = append(family, &lines[i].Shift)
		}
	}
	e.correct(family)
	e.called(e.Classes)
	e.called(e.Counters)
	byAmount(e.Classes)
	slices.SortStableFunc(e.Counters, func(x, y Line) int { return cmp.Compare(y.relative(), x.relative()) })
}

// testFunctions tests the functions. Call it only where a class or a counter differs: then at most
// 5 % of comparisons of equal cells name a function.
func (e *End) testFunctions() {
	var family []*stat.Shift
	for i := range e.Functions {
		family = append(family, &e.Functions[i].Shift)
	}
	e.correct(family)
	e.called(e.Functions)
	byAmount(e.Functions)
}

// correct corrects a family for its number, and for that of the couples which are asked about and
// of their ends.
func (e *End) correct(family []*stat.Shift) {
	stat.ShiftFamily(family)
	for _, s := range family {
		s.Adjusted = min(1, s.Adjusted*e.together)
	}
}

func (e *End) called(lines []Line) {
	for i := range lines {
		lines[i].Differs = e.differs(&lines[i])
	}
}

// differs reports whether a part differs beyond doubt, and by more than the rates may make of it.
func (e *End) differs(l *Line) bool {
	return !l.Untested && l.Sign() != stat.Unknown &&
		min(math.Abs(*l.Lo), math.Abs(*l.Hi)) > math.Expm1(e.rates.Most)*max(math.Abs(l.A), math.Abs(l.B))
}

func anyDiffers(lines []Line) bool {
	return slices.ContainsFunc(lines, func(l Line) bool { return l.Differs })
}

// byAmount sorts parts by how much of the difference they are.
func byAmount(lines []Line) {
	slices.SortStableFunc(lines, func(x, y Line) int {
		return cmp.Or(cmp.Compare(math.Abs(y.Diff), math.Abs(x.Diff)), cmp.Compare(x.Name, y.Name),
			cmp.Compare(x.Where, y.Where))
	})
}

// relative computes a difference as a share of what both have.
func (l *Line) relative() float64 {
	if l.A+l.B == 0 {
		return 0
	}
	return math.Abs(l.Diff / (l.A + l.B))
}

// sumUp adds what is explained and what is not, and all shares.
func (e *End) sumUp(s *sides) {
	var named []string
	for _, c := range e.Classes {
		if c.Differs && !c.Vague {
			named = append(named, c.Name)
		}
	}
	explained := func(r *run) float64 {
		sum := 0.0
		for _, name := range named {
			sum += r.class(name)
		}
		return sum
	}
	if named != nil {
		e.Explained = new(s.sum(explained))
	}
	e.Unexplained = s.sum(func(r *run) float64 { return r.cpu() - explained(r) })
	if e.Explained != nil { // what is left is that exactly, and not only but for rounding
		e.Unexplained.Diff = e.CPU.Diff - e.Explained.Diff
	}
	if !e.CPU.Differs || e.CPU.Diff == 0 {
		return
	}
	share := func(diff float64) *float64 {
		if v := diff / e.CPU.Diff; !math.IsInf(v, 0) {
			return &v
		}
		return nil
	}
	for _, lines := range [][]Line{e.Classes, e.Functions} {
		for i := range lines {
			lines[i].Share = share(lines[i].Diff)
		}
	}
	e.CPU.Share, e.Unexplained.Share = share(e.CPU.Diff), share(e.Unexplained.Diff)
	if e.Explained != nil {
		e.Explained.Share = share(e.Explained.Diff)
	}
}
