// SPDX-License-Identifier: MIT

package stat

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"

	"github.com/aclements/go-moremath/stats"
)

// Run is a figure of one run, and where the run stands among all: runs of one boot of the
// hosts have more in common than those of two, and those of one block more than those of two.
type Run struct {
	Value   float64
	Boot    string // of the hosts; "": not known, then each session is taken for a boot of its own
	Session string
	Rep     int // which repetition of its cell: every cell comes once in a block
	// Start tells the starts of the agents of a session apart; "": a session has one.
	Start string
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
// theirs. Where each has boots of its own, or starts, these are what can be compared: with six of
// each, by their medians, or with a spread that was declared.
func Contrast(a, b []Run, between Between) Difference {
	if len(a) == 0 || len(b) == 0 {
		return Diff(valuesOf(a), valuesOf(b))
	}
	s := &samples{a: a, b: b, between: between}
	s.boots, s.both = unitsOfBoth(a, b, Run.boot)
	d := methods[slices.IndexFunc(methods, func(m method) bool { return m.fits(s) })].compare(s)
	d.BootsA, d.BootsB, d.where = len(s.boots[0]), len(s.boots[1]), whereOf(a, b)
	if d.Level == AcrossStarts || d.Level == WithinStarts || d.Level == DeclaredStarts || d.Level == tooFewStarts {
		d.StartsA, d.StartsB = len(unitsOf(a, Run.start)), len(unitsOf(b, Run.start))
	}
	return d
}

// bootsApart compares runs that have no boot in common.
func (s *samples) bootsApart() Difference {
	d := apart(s.a, s.b, Run.boot, s.between.Boots)
	d.Level = map[Level]Level{AcrossStarts: AcrossBoots, DeclaredStarts: DeclaredBoots,
		tooFewStarts: TooFewBoots}[d.Level]
	if d.Level == TooFewBoots && min(d.NA, d.NB) >= MinRuns {
		d.Warnings = fewUnits("boot", s.boots)
	}
	return d
}

// places makes the hashes of [whereOf], which no other process has.
var places = maphash.MakeSeed()

// whereOf hashes the places of runs.
func whereOf(a, b []Run) uint64 {
	var h maphash.Hash
	h.SetSeed(places)
	for side, runs := range [2][]Run{a, b} {
		for i := range runs {
			r := &runs[i]
			for _, place := range [3]string{r.Boot, r.Session, r.Start} {
				h.WriteString(place)
				h.WriteByte(0)
			}
			h.WriteByte(byte(side))
			h.WriteByte(byte(r.Rep))
			h.WriteByte(byte(r.Rep >> 8))
		}
	}
	return h.Sum64()
}

// apart compares runs that have no unit, start or boot, in common.
func apart(a, b []Run, unit func(Run) string, between Spread) (d Difference) {
	us := [2][]string{unitsOf(a, unit), unitsOf(b, unit)}
	switch {
	case min(len(us[0]), len(us[1])) >= MinRuns:
		d = Diff(medians(a, unit), medians(b, unit))
		d.NA, d.NB, d.Level = len(a), len(b), AcrossStarts
	case between.SD > 0 && min(len(a), len(b)) >= MinRuns && allPositive(a, b):
		d = declared(a, b, unit, between)
	default:
		d = Diff(valuesOf(a), valuesOf(b))
		if d.Level = tooFewStarts; len(d.Warnings) == 0 {
			d.Warnings = fewUnits("start", us)
		}
		d.P, d.Adjusted, d.strata = 1, 1, nil
		if d.Ratio != nil {
			d.Ratio.Lo, d.Ratio.Hi = nil, nil // of the runs; what units do to it is not known
		}
	}
	return d
}

// unitsOfBoth lists the units of each, and those that both have.
func unitsOfBoth(a, b []Run, unit func(Run) string) (us [2][]string, both []string) {
	us = [2][]string{unitsOf(a, unit), unitsOf(b, unit)}
	return us, slices.DeleteFunc(slices.Clone(us[0]),
		func(s string) bool { _, found := slices.BinarySearch(us[1], s); return !found })
}

func fewUnits(unit string, us [2][]string) []string {
	of := unit + "s"
	if unit == "start" {
		of = "starts of the agents"
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
		d = apart(a, b, Run.start, between.starts())
		d.ofStarts = d.Level == AcrossStarts
		return d
	case n == 0: // of each boot a start of one cell, and another of the other
		d = apart(a, b, Run.start, between.starts())
		if d.ofStarts = d.Level == AcrossStarts; d.ofStarts && positive {
			d.test(strataOf(byBoot(ofUnits(a, Run.start, Median)), byBoot(ofUnits(b, Run.start, Median)),
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

// ofUnits makes one run of those of each unit: their middle. Units stand in the order of their
// first runs.
func ofUnits(runs []Run, unit func(Run) string, middle func([]float64) float64) (out []Run) {
	runs = slices.Clone(runs)
	slices.SortStableFunc(runs, place)
	at, values := map[string]int{}, [][]float64(nil)
	for _, r := range runs {
		i, ok := at[unit(r)]
		if !ok {
			i = len(out)
			at[unit(r)] = i
			out, values = append(out, r), append(values, nil)
		}
		values[i] = append(values[i], r.Value)
	}
	for i := range out {
		out[i].Value = middle(values[i])
	}
	return out
}

// byStart sorts runs by their starts, each taken for a boot.
func byStart(runs []Run) []Run {
	out := slices.Clone(runs)
	for i := range out {
		out[i].Boot = out[i].start()
	}
	slices.SortStableFunc(out, func(x, y Run) int { return strings.Compare(x.Boot, y.Boot) })
	return out
}

// byBoot sorts runs by their boots.
func byBoot(runs []Run) []Run {
	out := slices.Clone(runs)
	for i := range out {
		out[i].Boot = out[i].boot()
	}
	slices.SortStableFunc(out, func(x, y Run) int { return strings.Compare(x.Boot, y.Boot) })
	return out
}

// place orders runs by boot, session and repetition.
func place(x, y Run) int {
	if c := strings.Compare(x.Boot, y.Boot); c != 0 {
		return c
	}
	if c := strings.Compare(x.Session, y.Session); c != 0 {
		return c
	}
	return cmp.Compare(x.Rep, y.Rep)
}

// placed sorts runs into that order; ok is false if a place occurs twice.
func placed(runs []Run) (sorted []Run, ok bool) {
	sorted = slices.Clone(runs)
	slices.SortFunc(sorted, place)
	for i := 1; i < len(sorted); i++ {
		if place(sorted[i-1], sorted[i]) == 0 {
			return nil, false
		}
	}
	return sorted, true
}

// blocks compares runs that share blocks; ok is false where they do not, or a repetition is
// there twice.
func blocks(a, b []Run) (d Difference, ok bool) {
	if !allPositive(a, b) {
		return d, false
	}
	n := [2]int{len(a), len(b)}
	a, okA := placed(a)
	b, okB := placed(b)
	if !okA || !okB {
		return d, false
	}
	theirs, ours := paired(a, b)
	if len(ours) == 0 {
		return d, false
	}
	d = Difference{NA: n[0], NB: n[1], Pairs: len(ours)}
	pairs := Pairs(valuesOf(ours), valuesOf(theirs))
	d.Ratio = &Ratio{Value: pairs.Estimate}
	if pairs.HasInterval() {
		d.Ratio.Lo, d.Ratio.Hi = &pairs.Lo, &pairs.Hi
	}
	a, b = ofBoth(a, b)
	d.test(strataOf(a, b, pairOfBlocks))
	d.warnFew()
	return d, true
}

// pairOfBlocks reduces a run to what tells pairs of blocks apart.
func pairOfBlocks(r Run) Run { return Run{Boot: r.Boot, Session: r.Session, Rep: r.Rep / 2} }

// paired returns the runs at the places that both have; both must be in the order of places.
func paired(a, b []Run) (x, y []Run) {
	x, y = make([]Run, 0, len(a)), make([]Run, 0, len(b))
	for i, k := 0, 0; i < len(a) && k < len(b); {
		switch c := place(a[i], b[k]); {
		case c < 0:
			i++
		case c > 0:
			k++
		default:
			x, y = append(x, a[i]), append(y, b[k])
			i, k = i+1, k+1
		}
	}
	return x, y
}

// ofBoth leaves out the runs of blocks of which the other cell has none: it may lack one because
// the block was a bad one. A block that a boot cut in two has a run of both.
func ofBoth(a, b []Run) (x, y []Run) {
	at := func(r Run) Run { return Run{Boot: r.Boot, Session: r.Session, Rep: r.Rep} }
	places := func(runs []Run) map[Run]bool {
		m := make(map[Run]bool, len(runs))
		for _, r := range runs {
			m[at(r)] = true
		}
		return m
	}
	inA, inB := places(a), places(b)
	alone := func(runs []Run, there map[Run]bool) map[int]bool {
		m := map[int]bool{}
		for _, r := range runs {
			if !there[at(r)] {
				m[r.Rep] = true
			}
		}
		return m
	}
	aloneA, aloneB := alone(a, inB), alone(b, inA)
	if len(aloneA)+len(aloneB) == 0 {
		return a, b
	}
	only := func(runs []Run, there map[Run]bool, others map[int]bool) []Run {
		return slices.DeleteFunc(slices.Clone(runs), func(r Run) bool { return !there[at(r)] && !others[r.Rep] })
	}
	return only(a, inB, aloneB), only(b, inA, aloneA)
}

// strataOf sorts logarithms by strata; of tells a run's, and runs of one stratum stand one
// after another. A stratum of one cell alone says nothing.
func strataOf(a, b []Run, of func(Run) Run) (out []stratum) {
	return strataBy(a, b, logsOf(a), logsOf(b), of)
}

// strataBy does what [strataOf] does, with other figures of the runs than their logarithms.
func strataBy(a, b []Run, la, lb []float64, of func(Run) Run) (out []stratum) {
	out = make([]stratum, 0, max(len(a), len(b)))
	for i, k := 0, 0; i < len(a) && k < len(b); {
		x, y := of(a[i]), of(b[k])
		toA, toB := i, k
		for toA < len(a) && of(a[toA]) == x {
			toA++
		}
		for toB < len(b) && of(b[toB]) == y {
			toB++
		}
		switch c := place(x, y); {
		case c < 0:
			i = toA
		case c > 0:
			k = toB
		default:
			out = append(out, stratum{la[i:toA:toA], lb[k:toB:toB]})
			i, k = toA, toB
		}
	}
	return out
}

func logsOf(runs []Run) []float64 {
	out := make([]float64, len(runs))
	for i, r := range runs {
		out[i] = math.Log(r.Value)
	}
	return out
}

// acrossPairs compares two cells by their ratios in each of six boots or more: the boots are
// the sample.
func acrossPairs(a, b []Run) Difference {
	ours, theirs := medians(b, Run.boot), medians(a, Run.boot) // of the same boots, in the same order
	pairs := Pairs(ours, theirs)
	d := Difference{NA: len(a), NB: len(b), Pairs: len(ours), Level: AcrossBoots, Ratio: &Ratio{Value: pairs.Estimate,
		Lo: &pairs.Lo, Hi: &pairs.Hi}}
	strata := make([]stratum, len(ours)) // of one pair each: what is permuted is its sign
	for i := range ours {
		strata[i] = stratum{a: []float64{math.Log(theirs[i])}, b: []float64{math.Log(ours[i])}}
	}
	d.test(strata)
	d.warnFew()
	return d
}

// declared compares medians of units, boots or starts, with a spread between them that was
// declared, and not less than what is seen with it; what the runs within units leave open comes on
// top.
func declared(a, b []Run, unit func(Run) string, between Spread) Difference {
	d := Difference{NA: len(a), NB: len(b), Level: DeclaredStarts, Least: 0}
	var means [2]float64
	var of [2][]float64
	for side, runs := range [][]Run{a, b} {
		of[side] = medians(runs, unit)
		for i, m := range of[side] {
			of[side][i] = math.Log(m)
		}
		means[side] = mean(of[side])
	}
	t := student{}
	spread := between.with(of)
	t.add(squareOf(spread.SD)*(1/float64(len(of[0]))+1/float64(len(of[1]))), spread.Of)
	for _, runs := range [][]Run{a, b} {
		t.add(openWithin(runs, unit))
	}
	d.t, d.shift = &t, means[1]-means[0]
	d.P = t.p(d.shift)
	d.Ratio = d.at(1 - confidence)
	d.Adjusted, d.Between = d.P, spread.SD
	return d
}

// with adds to a declared spread what is seen of it, as the logarithms of both sides have it. It
// never becomes less.
func (s Spread) with(of [2][]float64) Spread {
	squares, df := squareOf(s.SD)*float64(s.Of), s.Of
	for _, v := range of {
		squares += squareOf(deviation(v)) * float64(len(v)-1)
		df += len(v) - 1
	}
	return Spread{max(s.SD, math.Sqrt(squares/float64(max(df, 1)))), max(df, 1)}
}

// student is a variance that is the sum of several, of which the least known has df degrees of
// freedom: Student's t of these errs on the safe side (Mickey and Brown 1966). By Satterthwaite's,
// 13 % were wrong where a spread was of two boots.
type student struct {
	variance float64
	df       int // 0: nothing is known
}

func (t *student) add(variance float64, df int) {
	t.variance += variance
	if df > 0 && (t.df == 0 || df < t.df) {
		t.df = df
	}
}

func (t *student) dist() stats.TDist { return stats.TDist{V: float64(max(t.df, 1))} }

func (t *student) p(shift float64) float64 {
	if !(t.variance > 0) {
		return 1
	}
	return min(1, 2*(1-t.dist().CDF(math.Abs(shift)/math.Sqrt(t.variance))))
}

// far computes how far the truth may be off, with an error of alpha.
func (t *student) far(alpha float64) float64 {
	return quantileT(t.dist(), 1-alpha/2) * math.Sqrt(t.variance)
}

// openWithin estimates how much variance runs within units leave to the mean of the units' medians,
// of their logarithms, and its degrees of freedom. A median has pi/2 of a mean's variance.
func openWithin(runs []Run, unit func(Run) string) (variance float64, df int) {
	units := unitsOf(runs, unit)
	var squares, share float64
	for _, v := range perUnit(runs, units, unit) {
		for i, x := range v {
			v[i] = math.Log(x)
		}
		m := mean(v)
		for _, x := range v {
			squares += (x - m) * (x - m)
		}
		df += len(v) - 1
		share += 1 / float64(len(v))
	}
	if df == 0 {
		return 0, 0
	}
	k := float64(len(units))
	return math.Pi / 2 * squares / float64(df) * share / (k * k), df
}

// quantileT finds the quantile of Student's t by bisection.
func quantileT(d stats.TDist, p float64) float64 {
	lo, hi := 0.0, 1e6
	for range 60 {
		if mid := (lo + hi) / 2; d.CDF(mid) < p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

func deviation(v []float64) float64 {
	m, ss := mean(v), 0.0
	for _, x := range v {
		ss += (x - m) * (x - m)
	}
	return math.Sqrt(ss / float64(max(len(v)-1, 1)))
}

// medians computes the median of each unit, in the order of the units' names.
func medians(runs []Run, unit func(Run) string) (out []float64) {
	for _, v := range perUnit(runs, unitsOf(runs, unit), unit) {
		out = append(out, Median(v))
	}
	return out
}

// perUnit groups values by unit, for some units: there may be as many units as runs.
func perUnit(runs []Run, units []string, unit func(Run) string) [][]float64 {
	at := make(map[string]int, len(units))
	for i, u := range units {
		at[u] = i
	}
	out := make([][]float64, len(units))
	for _, r := range runs {
		if i, ok := at[unit(r)]; ok {
			out[i] = append(out[i], r.Value)
		}
	}
	return out
}

// unitsOf lists the units of runs in order, each once.
func unitsOf(runs []Run, unit func(Run) string) (out []string) {
	for i, r := range runs {
		if i > 0 && r.Boot == runs[i-1].Boot && r.Session == runs[i-1].Session && r.Start == runs[i-1].Start {
			continue
		}
		out = append(out, unit(r))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// only selects the runs of some boots, which are sorted.
func only(runs []Run, boots []string) []Run { return onlyOf(runs, boots, Run.boot) }

// onlyOf selects the runs of some units, which are sorted.
func onlyOf(runs []Run, units []string, unit func(Run) string) []Run {
	if all := unitsOf(runs, unit); slices.Equal(all, units) {
		return runs
	}
	return slices.DeleteFunc(slices.Clone(runs),
		func(r Run) bool { _, found := slices.BinarySearch(units, unit(r)); return !found })
}

func valuesOf(runs []Run) (out []float64) {
	for _, r := range runs {
		out = append(out, r.Value)
	}
	return out
}

func allPositive(a, b []Run) bool {
	for _, runs := range [][]Run{a, b} {
		if slices.ContainsFunc(runs, func(r Run) bool { return !(r.Value > 0) }) {
			return false
		}
	}
	return true
}
