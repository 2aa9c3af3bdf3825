// SPDX-License-Identifier: MIT

package stat

import (
	"cmp"
	"fmt"
	"slices"
)

// Run is a figure of one run, and where the run stands among all: runs of one boot of the
// hosts have more in common than those of two, and those of one block more than those of two.
type Run struct {
	Value   float64
	Boot    string // of the hosts; "": not known, then each session is taken for a boot of its own
	Session string
	// By is the session that made it: a replay has one of its own, and so has what resumed a plan;
	// "": Session.
	By  string
	Rep int // which repetition of its cell: every cell comes once in a block
	// Start tells the starts of the agents of a session apart; "": a session has one.
	Start string
	// Together tells apart what was open at once and took turns: whatever the machine did
	// meanwhile, it did to all of it. 0: the run was made by itself.
	Together int64
}

// Between is how far apart figures are between boots, and between starts of one boot, as somebody
// declares it: what was measured once, of so many. Zero: nothing is declared.
type Between struct{ Boots, Starts Spread }

// Or takes what b does not declare from another.
func (b Between) Or(o Between) Between {
	b.Boots, b.Starts = wider(b.Boots, o.Boots), wider(b.Starts, o.Starts)
	return b
}

func wider(a, b Spread) Spread {
	if b.SD > a.SD {
		return b
	}
	return a
}

// starts returns what was declared between starts of one boot: boots differ by no less.
func (b Between) starts() Spread {
	if b.Starts.SD > 0 {
		return b.Starts
	}
	return b.Boots
}

// Level is what a comparison generalizes to: which of its runs could have been others.
type Level string

// The levels.
const (
	WithinBoot    Level = "within boot"    // all runs are of one boot: another boot may differ
	WithinSession Level = "within session" // the same, where boots are not on record
	WithinBoots   Level = "within boots"   // both cells ran in each of some boots
	AcrossBoots   Level = "across boots"   // boots are the sample
	DeclaredBoots Level = "declared"       // the spread between boots was declared
	TooFewBoots   Level = "too few boots"  // there are other boots on both sides, and too few

	// The same for starts of the agents, of one boot.
	WithinStarts   Level = "within starts"
	AcrossStarts   Level = "across starts"
	DeclaredStarts Level = "declared starts"
	tooFewStarts   Level = "too few starts"
)

// boot returns what tells boots apart.
func (r Run) boot() string {
	if r.Boot == "" {
		return "session " + r.Session
	}
	return r.Boot
}

// start returns what tells starts apart, of whichever boot.
func (r Run) start() string {
	return r.boot() + "\x00" + cmp.Or(r.Start, r.Session)
}

// session returns what tells sessions apart, of whichever boot.
func (r Run) session() string { return r.boot() + "\x00" + cmp.Or(r.By, r.Session) }

// unitApart returns by what cells without a common start are compared: by starts in a session that
// both have, and else by sessions. These may differ in more than starts of one session do.
func unitApart(a, b []Run) Units {
	if _, both := unitsOfBoth(a, b, Run.session); len(both) > 0 {
		return Units{"start", Run.start}
	}
	return Units{"session", Run.session}
}

// samples are the runs of two cells, with the boots of each and those that both have, and the
// spreads that were declared.
type samples struct {
	a, b    []Run
	boots   [2][]string
	both    []string
	between Between
}

// method is one way to compare two samples.
type method struct {
	name    string
	fits    func(*samples) bool
	compare func(*samples) Difference
}

// methods are all ways: the first that fits is taken.
var methods = []method{
	{"within boots", func(s *samples) bool { return len(s.both) > 0 },
		func(s *samples) Difference {
			return within(only(s.a, s.both), only(s.b, s.both), len(s.both), s.between)
		}},
	{"boots apart", func(*samples) bool { return true }, (*samples).bootsApart},
}

// Contrast compares the runs b with the runs a, by the first of the [methods] that fits: at the
// highest level that was repeated. Where both are of the same boots and starts, it is by blocks:
// drift and what else hits neighbours alike is taken out, and the names of the cells are permuted
// within pairs of blocks; six starts or more stand for their runs, and six boots or more for
// theirs. Where each has boots of its own, or sessions, or starts of one session, these are what
// can be compared: with six of each, by their medians, or with a spread that was declared.
func Contrast(a, b []Run, between Between) Difference {
	if len(a) == 0 || len(b) == 0 {
		return Diff(valuesOf(a), valuesOf(b))
	}
	s := &samples{a: a, b: b, between: between}
	s.boots, s.both = unitsOfBoth(a, b, Run.boot)
	d := methods[slices.IndexFunc(methods, func(m method) bool { return m.fits(s) })].compare(s)
	d.BootsA, d.BootsB, d.where = len(s.boots[0]), len(s.boots[1]), whereOf(a, b)
	if d.Level == AcrossStarts || d.Level == WithinStarts || d.Level == DeclaredStarts || d.Level == tooFewStarts {
		unit := unitApart(a, b)
		d.StartsA, d.StartsB = len(unitsOf(a, unit.key)), len(unitsOf(b, unit.key))
		d.OfSessions = unit.Name == "session"
	}
	return d
}

// bootsApart compares runs that have no boot in common.
func (s *samples) bootsApart() Difference {
	d := apart(s.a, s.b, Units{"boot", Run.boot}, s.between.Boots)
	d.Level = map[Level]Level{AcrossStarts: AcrossBoots, DeclaredStarts: DeclaredBoots,
		tooFewStarts: TooFewBoots}[d.Level]
	if d.Level == TooFewBoots && min(d.NA, d.NB) >= MinRuns {
		d.Warnings = fewUnits("boot", s.boots)
	}
	return d
}

// apart compares runs that have no unit, start, session or boot, in common.
func apart(a, b []Run, unit Units, between Spread) (d Difference) {
	us := [2][]string{unitsOf(a, unit.key), unitsOf(b, unit.key)}
	switch {
	case min(len(us[0]), len(us[1])) >= MinRuns:
		d = Diff(medians(a, unit.key), medians(b, unit.key))
		d.NA, d.NB, d.Level = len(a), len(b), AcrossStarts
	case between.SD > 0 && min(len(a), len(b)) >= MinRuns && allPositive(a, b):
		d = declared(a, b, unit.key, between)
	default:
		d = Diff(valuesOf(a), valuesOf(b))
		if d.Level = tooFewStarts; len(d.Warnings) == 0 {
			d.Warnings = fewUnits(unit.Name, us)
		}
		d.P, d.Adjusted, d.strata = 1, 1, nil
		if d.Ratio != nil {
			d.Ratio.Lo, d.Ratio.Hi = nil, nil // of the runs; what units do to it is not known
		}
	}
	return d
}

func fewUnits(unit string, us [2][]string) []string {
	of := "starts of the agents"
	if unit == "boot" {
		of = "boots"
	}
	return []string{fmt.Sprintf("%s and %s: a verdict needs %d of each, or a declared spread between %s",
		counted(len(us[0]), unit), counted(len(us[1]), unit), MinRuns, of)}
}

func counted(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprint(n, " ", unit, "s")
}

// within compares runs of the same boots.
func within(a, b []Run, boots int, between Between) (d Difference) {
	positive := allPositive(a, b)
	if boots >= MinRuns && positive {
		return acrossPairs(a, b)
	}
	_, both := unitsOfBoth(a, b, Run.start)
	switch n := len(both); {
	case n == 0 && boots == 1:
		d = apart(a, b, unitApart(a, b), between.starts())
		d.ofStarts = d.Level == AcrossStarts
		return d
	case n == 0: // of each boot a start of one cell, and another of the other
		d = apart(a, b, unitApart(a, b), between.starts())
		if d.ofStarts = d.Level == AcrossStarts; d.ofStarts && positive {
			unit := unitApart(a, b).key
			d.test(strataOf(byBoot(ofUnits(a, unit, Median)), byBoot(ofUnits(b, unit, Median)),
				func(r Run) Run { return Run{Boot: r.Boot} }))
		}
	case n >= MinRuns && positive:
		d, _ = blocks(ofStarts(onlyOf(a, both, Run.start), onlyOf(b, both, Run.start), Median))
		d.NA, d.NB, d.Level, d.ofStarts = len(a), len(b), AcrossStarts, true
	default:
		a, b = onlyOf(a, both, Run.start), onlyOf(b, both, Run.start)
		ok := false
		if d, ok = blocks(a, b); !ok {
			d = Diff(valuesOf(a), valuesOf(b))
			if n > 1 && positive {
				d.test(strataOf(byStart(a), byStart(b), func(r Run) Run { return Run{Boot: r.Boot} }))
			}
		}
		d.Level = levelWithin(a, boots, n)
	}
	if boots > 1 && d.Level != tooFewStarts && d.Level != DeclaredStarts {
		d.Level = WithinBoots
	}
	return d
}

// levelWithin returns the level of an answer by runs of so many boots and starts, those of both.
func levelWithin(a []Run, boots, starts int) Level {
	switch {
	case boots > 1:
		return WithinBoots
	case starts > 1:
		return WithinStarts
	case a[0].Boot == "" && a[0].Session == "":
		return ""
	case a[0].Boot == "":
		return WithinSession
	}
	return WithinBoot
}

// ofStarts makes one run of those of each start: their middle. Both cells have runs in each start.
// Starts of a boot that follow each other are a pair of blocks, unless each has one run and these
// are in pairs already.
func ofStarts(a, b []Run, middle func([]float64) float64) (x, y []Run) {
	x, y = ofUnits(a, Run.start, middle), ofUnits(b, Run.start, middle)
	pairs := map[Run]bool{}
	for _, r := range x {
		pairs[pairOfBlocks(r)] = true
	}
	if len(x) == len(a) && len(y) == len(b) && len(pairs) <= (len(x)+1)/2 {
		return x, y
	}
	at, n := map[string]int{}, map[string]int{} // place of a start, and starts of a boot
	for i := range x {
		at[x[i].start()] = n[x[i].boot()]
		n[x[i].boot()]++
	}
	for _, runs := range [][]Run{x, y} {
		for i := range runs {
			start := runs[i].start()
			runs[i].Boot, runs[i].Session, runs[i].Start, runs[i].Rep = runs[i].boot(), "", "", at[start]
		}
	}
	return x, y
}
