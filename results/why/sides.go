// SPDX-License-Identifier: MIT

package why

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

// run is one end of a run that was profiled.
type run struct {
	rec     *results.Record
	host    *results.Host
	profile *results.Profiled
	figures *results.HostFigures

	classes   map[string]float64
	functions map[function]*results.ProfiledPart
}

// side is one cell's runs at an end, of those that count.
type side struct {
	cell *compare.Cell
	all  int // runs, with or without a profile
	runs []*run
	// unfit are those whose profile is none that zcbench can have made.
	unfit int
}

// sides are the two cells'.
type sides struct {
	a, b    side
	between stat.Between
}

// profiled finds the runs of a cell that were profiled at an end.
func profiled(c *compare.Cell, role ends.Role, metrics bool) side {
	s := side{cell: c, all: len(c.Runs)}
	for _, rec := range c.Runs {
		h := rec.Host(role)
		if h.Probes == nil || h.Probes.Profile == nil || h.Probes.Profile.Busy.SelfPerKB == nil {
			continue
		}
		r := &run{rec: rec, host: h, profile: h.Probes.Profile, classes: map[string]float64{},
			functions: map[function]*results.ProfiledPart{}}
		if metrics {
			r.figures = h.Figures()
		} else {
			r.figures = (&results.Host{}).Figures()
		}
		if r.sort(); !r.fits() {
			s.unfit++
			continue
		}
		s.runs = append(s.runs, r)
	}
	return s
}

// sort adds up what is there twice: functions of the same name in two files.
func (r *run) sort() {
	sampled := 0.0
	for i := range r.profile.Classes {
		if c := &r.profile.Classes[i]; c.SelfPerKB != nil {
			r.classes[c.Name] += *c.SelfPerKB
			sampled += *c.SelfPerKB
		}
	}
	if rest := r.cpu() - sampled; rest > rounding*r.cpu() || rest < -rounding*r.cpu() {
		r.classes[notSampled] = rest
	}
	for i := range r.profile.Functions {
		f := &r.profile.Functions[i]
		if f.SelfPerKB == nil {
			continue
		}
		key := function{f.Name, f.Where}
		if same := r.functions[key]; same != nil {
			sum := *same
			sum.SelfPerKB = new(*same.SelfPerKB + *f.SelfPerKB)
			r.functions[key] = &sum
			continue
		}
		r.functions[key] = f
	}
}

// rounding is how far two sums of the same may be apart, a share of it.
const rounding = 1e-6

// cpu returns the busy time by accounting, ns per kB; where that is not on record, that of the
// profile.
func (r *run) cpu() float64 {
	if v := r.host.NsPerKB(); v != nil {
		return *v
	}
	return *r.profile.Busy.SelfPerKB
}

// class returns a class's part of the busy time: 0 where the run did not meet it.
func (r *run) class(name string) float64 { return r.classes[name] }

func (s *side) records() (out []*results.Record) {
	for _, r := range s.runs {
		out = append(out, r.rec)
	}
	return out
}

// comparable returns what both were sampled by.
func (s *sides) comparable(c *compare.Couple, role ends.Role) (event string, err error) {
	const again = "run again with --probe profile (where both ends share a CPU, classes are left out)"
	for k, x := range []*side{&s.a, &s.b} {
		if x.all == 0 {
			return "", &lackError{role, fmt.Sprintf("%c, %s, has no run that counts", 'A'+k, x.cell.Cell.ID),
				"zcbench report shows what happened to them"}
		}
	}
	if len(s.a.runs)+len(s.b.runs) == 0 && !c.TableA && !c.TableB {
		return "", &lackError{role, "neither cell has a profile", again}
	}
	for k, x := range []*side{&s.a, &s.b} {
		name := fmt.Sprintf("%c, %s,", 'A'+k, x.cell.Cell.ID)
		switch {
		case len(x.runs) == 0 && []bool{c.TableA, c.TableB}[k]:
			return "", &lackError{role, name + " is of a file of figures, which has no profiles",
				"name the results folder"}
		case len(x.runs) == 0:
			return "", &lackError{role, name + " has no profile", again}
		case len(x.runs) < leastProfiled:
			return "", &lackError{role, fmt.Sprintf("%s has %d run with a profile", name, len(x.runs)),
				fmt.Sprintf("chance cannot be ruled out; make %d of each, better %d", stat.MinRuns, GoodRuns)}
		}
	}
	events := [2][]string{s.a.events(), s.b.events()}
	both := slices.Concat(events[0], events[1])
	if slices.ContainsFunc(both, func(e string) bool { return e != both[0] }) {
		return "", &lackError{role,
			fmt.Sprintf("A was sampled by %s and B by %s, which differ where interrupts are off", joined(events[0]),
				joined(events[1])),
			"profile both on hosts that sample the same way"}
	}
	return both[0], nil
}

// GoodRuns is how many runs tell some 30 classes and counters apart.
const GoodRuns = 8

func (s *side) events() (out []string) {
	for _, r := range s.runs {
		if !slices.Contains(out, r.profile.Event) {
			out = append(out, r.profile.Event)
		}
	}
	return out
}

// line compares a figure that all runs have.
func (s *sides) line(name, unit string, of func(*run) float64) Line {
	l, _ := s.some(name, unit, func(r *run) *float64 { return new(of(r)) })
	return l
}

// sum compares a sum of classes.
func (s *sides) sum(of func(*run) float64) Sum {
	l := s.line("", unitNs, of)
	return Sum{Unit: l.Unit, A: l.A, B: l.B, Diff: l.Diff, Lo: l.Lo, Hi: l.Hi}
}

// some compares a figure that runs may lack; ok is false where a side has it in no run.
func (s *sides) some(name, unit string, of func(*run) *float64) (l Line, ok bool) {
	a, b := s.a.values(of), s.b.values(of)
	return Line{Name: name, Unit: unit, Shift: stat.ShiftOf(a, b, s.between)}, len(a) > 0 && len(b) > 0
}

func (s *side) values(of func(*run) *float64) (out []stat.Run) {
	for _, r := range s.runs {
		if v := of(r); v != nil && plausible(*v) {
			out = append(out, s.cell.Run(r.rec, *v))
		}
	}
	return compare.SameBoots(out)
}

// notes say what the runs lack.
func (s *sides) notes(c *compare.Couple) (out []string) {
	for k, x := range []*side{&s.a, &s.b} {
		if had := len(x.runs) + x.unfit; had < x.all {
			out = append(out, fmt.Sprintf("%d of %d runs of %c have a profile", had, x.all, 'A'+k))
		}
		if x.unfit > 0 {
			out = append(
				out, fmt.Sprintf("the profiles of %d runs of %c are left out: implausibly many names or large figures",
					x.unfit, 'A'+k))
		}
		if n := x.flagged(); n > 0 {
			out = append(out, fmt.Sprintf("samples and the CPUs' accounting differ in %d runs of %c (%s)", n, 'A'+k,
				results.FlagProfileDiffers))
		}
		if x.lost() {
			out = append(out, fmt.Sprintf("more than 1 %% of the samples of a run of %c were lost", 'A'+k))
		}
	}
	return out
}

func (s *side) flagged() (n int) {
	for _, r := range s.runs {
		if slices.Contains(r.rec.Flags, results.FlagProfileDiffers) {
			n++
		}
	}
	return n
}

func (s *side) lost() bool {
	return slices.ContainsFunc(s.runs, func(r *run) bool {
		p := r.profile
		return p.Samples != nil && p.Lost != nil && *p.Lost > .01*(*p.Samples+*p.Lost)
	})
}
