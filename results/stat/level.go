// SPDX-License-Identifier: MIT

package stat

import (
	"cmp"
	"fmt"
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
)

// boot returns what tells boots apart.
func (r Run) boot() string {
	if r.Boot == "" {
		return "session " + r.Session
	}
	return r.Boot
}

// samples are the runs of two cells, with the boots of each and those that both have, and a spread
// of boots that was declared.
type samples struct {
	a, b    []Run
	boots   [2][]string
	both    []string
	between float64
}

// method is one way to compare two samples.
type method struct {
	name    string
	fits    func(*samples) bool
	compare func(*samples) Difference
}

// methods are all ways: the first that fits is taken.
var methods = []method{
	{"nothing", func(s *samples) bool { return len(s.a) == 0 || len(s.b) == 0 },
		func(s *samples) Difference { return Diff(valuesOf(s.a), valuesOf(s.b)) }},
	{"within boots", func(s *samples) bool { return len(s.both) > 0 },
		func(s *samples) Difference { return within(only(s.a, s.both), only(s.b, s.both), len(s.both)) }},
	{"medians of boots", func(s *samples) bool { return min(len(s.boots[0]), len(s.boots[1])) >= MinRuns },
		func(s *samples) Difference {
			d := Diff(bootMedians(s.a), bootMedians(s.b))
			d.NA, d.NB, d.Level = len(s.a), len(s.b), AcrossBoots
			return d
		}},
	{"declared spread", func(s *samples) bool {
		return s.between > 0 && min(len(s.a), len(s.b)) >= MinRuns && allPositive(s.a, s.b)
	}, func(s *samples) Difference { return declared(s.a, s.b, s.between) }},
	{"too few boots", func(*samples) bool { return true }, func(s *samples) Difference {
		d := Diff(valuesOf(s.a), valuesOf(s.b))
		if d.Level = TooFewBoots; len(d.Warnings) == 0 {
			d.Warnings = fewBoots(s.boots)
		}
		d.P, d.Adjusted = 1, 1
		if d.Ratio != nil {
			d.Ratio.Lo, d.Ratio.Hi = nil, nil // of the runs; what boots do to it is not known
		}
		return d
	}},
}

// Contrast compares the runs b with the runs a, by the first of the [methods] that fits. Where both
// are of the same boots, it is by blocks: drift and what else hits neighbours alike is taken out,
// and the names of the cells are permuted within pairs of blocks. Where each has boots of its own,
// boots are what can be compared: with six of each, by their medians, or with between, a spread of
// boots that was declared (0.01 = 1 %; 0: none was).
func Contrast(a, b []Run, between float64) Difference {
	s := &samples{a: a, b: b, between: between}
	s.boots, s.both = bootsOfBoth(a, b)
	m := methods[slices.IndexFunc(methods, func(m method) bool { return m.fits(s) })]
	d := m.compare(s)
	if len(a) > 0 && len(b) > 0 {
		d.BootsA, d.BootsB = len(s.boots[0]), len(s.boots[1])
	}
	return d
}

// bootsOfBoth lists the boots of each, and those that both have.
func bootsOfBoth(a, b []Run) (boots [2][]string, both []string) {
	boots = [2][]string{bootsOf(a), bootsOf(b)}
	return boots, slices.DeleteFunc(slices.Clone(boots[0]),
		func(s string) bool { _, found := slices.BinarySearch(boots[1], s); return !found })
}

func fewBoots(boots [2][]string) []string {
	return []string{fmt.Sprintf("%s and %s: a verdict needs %d of each, or a declared spread between boots",
		counted(len(boots[0])), counted(len(boots[1])), MinRuns)}
}

func counted(boots int) string {
	if boots == 1 {
		return "1 boot"
	}
	return fmt.Sprint(boots, " boots")
}

// within compares runs of the same boots.
func within(a, b []Run, boots int) Difference {
	d, blocked := blocks(a, b)
	switch {
	case boots >= MinRuns && allPositive(a, b):
		d = acrossPairs(a, b)
	case blocked:
	case boots == 1:
		d = Diff(valuesOf(a), valuesOf(b))
	default: // other sessions of the same boots
		d = Diff(valuesOf(a), valuesOf(b))
		if allPositive(a, b) {
			d.P, d.Least = permuteBlocks(strataOf(byBoot(a), byBoot(b), func(r Run) Run { return Run{Boot: r.Boot} }))
			d.Adjusted = d.P
		}
	}
	if d.Level == "" {
		d.Level = levelWithin(a, boots)
	}
	return d
}

// levelWithin returns the level of an answer by runs of so many boots, those of both.
func levelWithin(a []Run, boots int) Level {
	switch {
	case boots > 1:
		return WithinBoots
	case a[0].Boot == "" && a[0].Session == "":
		return ""
	case a[0].Boot == "":
		return WithinSession
	}
	return WithinBoot
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
	pairs := Pairs(ours, theirs)
	d.Ratio = &Ratio{Value: pairs.Estimate}
	if pairs.HasInterval() {
		d.Ratio.Lo, d.Ratio.Hi = &pairs.Lo, &pairs.Hi
	}
	d.P, d.Least = permuteBlocks(strataOf(a, b, pairOfBlocks))
	d.Adjusted = d.P
	d.warnFew()
	return d, true
}

// pairOfBlocks reduces a run to what tells pairs of blocks apart.
func pairOfBlocks(r Run) Run { return Run{Boot: r.Boot, Session: r.Session, Rep: r.Rep / 2} }

// paired returns the values at the places that both have; both must be in the order of places.
func paired(a, b []Run) (va, vb []float64) {
	va, vb = make([]float64, 0, len(b)), make([]float64, 0, len(b))
	for i, k := 0, 0; i < len(a) && k < len(b); {
		switch c := place(a[i], b[k]); {
		case c < 0:
			i++
		case c > 0:
			k++
		default:
			va, vb = append(va, a[i].Value), append(vb, b[k].Value)
			i, k = i+1, k+1
		}
	}
	return va, vb
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
	ours, theirs := bootMedians(b), bootMedians(a) // of the same boots, in the same order
	pairs := Pairs(ours, theirs)
	d := Difference{NA: len(a), NB: len(b), Pairs: len(ours), Level: AcrossBoots, Ratio: &Ratio{Value: pairs.Estimate,
		Lo: &pairs.Lo, Hi: &pairs.Hi}}
	strata := make([]stratum, len(ours)) // of one pair each: what is permuted is its sign
	for i := range ours {
		strata[i] = stratum{a: []float64{math.Log(theirs[i])}, b: []float64{math.Log(ours[i])}}
	}
	d.P, d.Least = permuteBlocks(strata)
	d.Adjusted = d.P
	d.warnFew()
	return d
}

// declared compares medians of boots with a spread between boots that was declared, and
// not less than what is seen; what the runs within boots leave open comes on top.
func declared(a, b []Run, between float64) Difference {
	d := Difference{NA: len(a), NB: len(b), Level: DeclaredBoots, Least: 0}
	var means, variance [2]float64
	df, spread := 0, between
	for side, runs := range [][]Run{a, b} {
		medians := bootMedians(runs)
		for i, m := range medians {
			medians[i] = math.Log(m)
		}
		if sd := deviation(medians); len(medians) > 1 && sd > spread {
			spread = sd
		}
		means[side] = mean(medians)
	}
	for side, runs := range [][]Run{a, b} {
		k := float64(len(bootsOf(runs)))
		open, f := openWithin(runs)
		variance[side] = spread*spread/k + open
		df += f
	}
	se := math.Sqrt(variance[0] + variance[1])
	dist := stats.TDist{V: float64(max(df, 1))}
	shift := means[1] - means[0]
	d.P = min(1, 2*(1-dist.CDF(math.Abs(shift)/se)))
	far := quantileT(dist, 1-(1-confidence)/2) * se
	lo, hi := math.Exp(shift-far), math.Exp(shift+far)
	d.Ratio = &Ratio{Value: math.Exp(shift), Lo: &lo, Hi: &hi}
	d.Adjusted, d.Between = d.P, spread
	return d
}

// openWithin estimates how much variance runs within boots leave to the mean of the boots' medians,
// of their logarithms, and its degrees of freedom. A median has pi/2 of a mean's variance.
func openWithin(runs []Run) (variance float64, df int) {
	boots := bootsOf(runs)
	var squares, share float64
	for _, v := range perBoot(runs, boots) {
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
	k := float64(len(boots))
	return math.Pi / 2 * squares / float64(df) * share / (k * k), df
}

// quantileT finds the quantile of Student's t by bisection.
func quantileT(d stats.TDist, p float64) float64 {
	lo, hi := 0.0, 1e3
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

// bootMedians computes the median of each boot, in the order of the boots' names.
func bootMedians(runs []Run) (out []float64) {
	for _, v := range perBoot(runs, bootsOf(runs)) {
		out = append(out, Median(v))
	}
	return out
}

// perBoot groups values by boot, for some boots: there may be as many boots as runs.
func perBoot(runs []Run, boots []string) [][]float64 {
	at := make(map[string]int, len(boots))
	for i, boot := range boots {
		at[boot] = i
	}
	out := make([][]float64, len(boots))
	for _, r := range runs {
		if i, ok := at[r.boot()]; ok {
			out[i] = append(out[i], r.Value)
		}
	}
	return out
}

func bootsOf(runs []Run) (out []string) {
	for i, r := range runs {
		if i > 0 && r.Boot == runs[i-1].Boot && r.Session == runs[i-1].Session {
			continue
		}
		out = append(out, r.boot())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// only selects the runs of some boots, which are sorted.
func only(runs []Run, boots []string) []Run {
	if all := bootsOf(runs); slices.Equal(all, boots) {
		return runs
	}
	return slices.DeleteFunc(slices.Clone(runs),
		func(r Run) bool { _, found := slices.BinarySearch(boots, r.boot()); return !found })
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
